// Reads and writes whole files.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/base/file/input_file.h"
#include "millrace/base/file/output_file.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

// Reads everything from the current position to the end.
[[nodiscard]] Result<std::vector<std::byte>> read_whole(InputFile& file);

// The whole file, or nothing if it does not exist. Any other problem is a failure that names the file: a
// folder, a pipe, more than `most_bytes`.
[[nodiscard]] Result<std::optional<std::vector<std::byte>>>
read_regular_file(const std::string& path,
                  std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max());

// The text of a file or pipe, or of standard input for "-". Returns the errors of InputFile, or interrupted
// if a wait for a pipe or terminal is stopped. Returns a usage error if there are more than `most_bytes`,
// after reading no more than that.
[[nodiscard]] Result<std::string> read_text(const std::string& path, std::size_t most_bytes,
                                            const InputAdvice& advice = {}, const std::stop_token& stop = {});

// Writes the file completely or not at all; "-" is standard output. Returns the errors of OutputFile.
[[nodiscard]] Status write_whole(std::string_view path, std::span<const std::byte> bytes,
                                 const OutputOptions& options = {});
[[nodiscard]] Status write_whole(std::string_view path, std::string_view text,
                                 const OutputOptions& options = {});

}  // namespace millrace
