#include "millrace/base/text/escaped_markup.h"

#include "millrace/base/text/printable.h"

namespace millrace {

std::string escaped_markup(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    switch (c) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      result += c;
    }
  }
  return result;
}

}  // namespace millrace
