// Reads files of records, which may be something else or damaged.
//
//   const auto bytes = read_record_file("pictures.idx", index_mark);
//   if (bytes && *bytes) index = index_from(**bytes);
#pragma once

#include "millrace/base/error/result.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::similar {

// The bytes of a file as far as it looks like records, for RecordReader, which tells what is wrong with the
// rest: the mark, and from then on each record whose kind is known and which ends in the file, and the header
// of the first that is not so. Reads nothing else, as a file of another kind may be larger than the memory.
// Nothing if there is no such file. A failure names the file.
[[nodiscard]] Result<std::optional<std::vector<std::byte>>> read_record_file(const std::string& path,
                                                                             std::string_view mark);
// The same of an open file; `name` is for messages.
[[nodiscard]] Result<std::vector<std::byte>> read_record_file(int descriptor, const std::string& name,
                                                              std::string_view mark);

}  // namespace millrace::similar
