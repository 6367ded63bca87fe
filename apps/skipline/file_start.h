// The start of a file, from which its format and its largest size are known before the rest is read.
//
//   auto bytes = read(file_start_bytes);
//   const auto most = most_pbm_bytes(bytes, limit);  // a failure refuses the file
#pragma once

#include <cstddef>

namespace millrace::skipline {

// Headers end within these bytes. Only the comments in a PBM file could make one longer.
inline constexpr std::size_t file_start_bytes = std::size_t{1} << 20;

}  // namespace millrace::skipline
