// Finds the file that is mapped at an address of a program, from /proc/PID/maps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::intensity {

struct MappedFile {
  std::string path;          // as the program sees it
  std::uint64_t inode = 0;   // identifies the file
  std::uint64_t offset = 0;  // of the address, within the file
};

// maps: the kernel's list. Returns nothing if no file is mapped there.
[[nodiscard]] std::optional<MappedFile> mapped_file(std::string_view maps, std::uint64_t address);

}  // namespace millrace::intensity
