// Reading a program's file must terminate for any bytes and never read beyond them.
#include "millrace/placement/program/program_file.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::ignore = millrace::placement::inspect_elf(std::as_bytes(std::span(data, size)));
  return 0;
}
