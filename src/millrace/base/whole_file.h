// Files read and written as a whole.
#pragma once

#include "millrace/base/input_file.h"
#include "millrace/base/output_file.h"
#include "millrace/base/result.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

// All that is left of it.
[[nodiscard]] Result<std::vector<std::byte>> read_whole(InputFile& file);

// The whole file; none where there is no such file. Failure that names the file for any other reason: a
// folder, a pipe, more than `most_bytes`.
[[nodiscard]] Result<std::optional<std::vector<std::byte>>>
read_regular_file(const std::string& path,
                  std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max());

// The text of a file or pipe, or of standard input for "-". Errors of InputFile, interrupted where a wait for
// a pipe or terminal is stopped; usage error, after no more than that was read, where there are more than
// `most_bytes`.
[[nodiscard]] Result<std::string> read_text(const std::string& path, std::size_t most_bytes,
                                            const InputAdvice& advice = {}, const std::stop_token& stop = {});

// To a file, as a whole or not at all, or to standard output for "-". Errors as of OutputFile.
[[nodiscard]] Status write_whole(std::string_view path, std::span<const std::byte> bytes,
                                 const OutputOptions& options = {});
[[nodiscard]] Status write_whole(std::string_view path, std::string_view text,
                                 const OutputOptions& options = {});

}  // namespace millrace
