// Escapes untrusted text for HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace millrace {

// Applies printable() and replaces HTML and XML markup with entities. Also safe between double quotes.
[[nodiscard]] std::string escaped_markup(std::string_view text);

}  // namespace millrace
