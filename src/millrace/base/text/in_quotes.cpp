#include "millrace/base/text/in_quotes.h"

#include <fmt/format.h>

namespace millrace {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string result = "'";
  for (char c : text.substr(0, longest)) {
    if (c >= ' ' && c <= '~') {
      result += c;
    } else {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  if (text.size() > longest) result += "...";
  return result + "'";
}

}  // namespace millrace
