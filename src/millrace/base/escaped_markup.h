// Text of unknown origin in a page of HTML or a drawing in SVG.
#pragma once

#include <string>
#include <string_view>

namespace millrace {

// printable(), with what is markup in HTML and XML as entities; also between double quotes.
[[nodiscard]] std::string escaped_markup(std::string_view text);

}  // namespace millrace
