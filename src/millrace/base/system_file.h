#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace millrace {

// What a small file of /proc or /sys says, whose size nobody knows beforehand; nothing where it cannot be
// read.
[[nodiscard]] inline std::optional<std::string> read_system_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string content{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return std::nullopt;
  return content;
}

}  // namespace millrace
