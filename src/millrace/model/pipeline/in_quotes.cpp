#include "millrace/model/pipeline/in_quotes.h"

#include <fmt/format.h>

namespace millrace::model {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string result = "'";
  for (const char c : text.substr(0, longest)) {
    if (c >= ' ' && c <= '~')
      result += c;
    else
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return result + (text.size() > longest ? "...'" : "'");
}

}  // namespace millrace::model
