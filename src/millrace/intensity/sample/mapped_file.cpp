#include "millrace/intensity/sample/mapped_file.h"

#include "millrace/base/text/parse_number.h"
#include "millrace/base/text/take_word.h"

#include <charconv>

namespace millrace::intensity {
namespace {

std::optional<std::uint64_t> parse_hexadecimal(std::string_view text) {
  std::uint64_t number = 0;
  constexpr int hexadecimal = 16;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, hexadecimal);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Parses a line such as "5581d000-5581e000 r-xp 00001000 08:01 1234   /usr/bin/x".
std::optional<MappedFile> file_of_line(std::string_view line, std::uint64_t address) {
  const std::string_view range = take_word(line);
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto from = parse_hexadecimal(range.substr(0, dash));
  const auto to = parse_hexadecimal(range.substr(dash + 1));
  if (!from || !to || address < *from || address >= *to) return std::nullopt;
  take_word(line);  // permissions
  const auto offset = parse_hexadecimal(take_word(line));
  take_word(line);  // device
  const auto inode = parse_number<std::uint64_t>(take_word(line));
  const std::size_t path = line.find('/');
  if (!offset || !inode || *inode == 0 || path == std::string_view::npos) return std::nullopt;
  return MappedFile{std::string(line.substr(path)), *inode, *offset + (address - *from)};
}

}  // namespace

std::optional<MappedFile> mapped_file(std::string_view maps, std::uint64_t address) {
  while (!maps.empty()) {
    const std::size_t end = maps.find('\n');
    if (auto found = file_of_line(maps.substr(0, end), address)) return found;
    if (end == std::string_view::npos) break;
    maps.remove_prefix(end + 1);
  }
  return std::nullopt;
}

}  // namespace millrace::intensity
