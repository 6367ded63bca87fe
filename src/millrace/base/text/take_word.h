// Splits kernel files and similar text into words and lines.
#pragma once

#include <algorithm>
#include <string_view>

namespace millrace {

inline constexpr std::string_view between_words = " \t\n";

// Removes and returns the next word of `text`; empty at the end.
inline std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(between_words), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(between_words));
  text.remove_prefix(word.size());
  return word;
}

// Removes and returns the next line of `text`, without its line end.
inline std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

}  // namespace millrace
