// Parses untrusted TOML safely.
#pragma once

#include "millrace/base/error/result.h"

#include <cstddef>
#include <string_view>

#include <toml++/toml.h>

namespace millrace {

// Maximum nesting of tables and arrays. It applies separately to a table header ([a.b.c]) and to a line below
// it (d.e = {f = [1]}). The parser and the destructor recurse per level, and thousands of levels would
// overflow the stack.
inline constexpr std::size_t most_toml_levels = 32;

// The caller must bound the size of the text. Returns a one-line usage error with file name and line number
// if the TOML is invalid or nested too deeply.
[[nodiscard]] Result<toml::table> parse_toml(std::string_view text, std::string_view file_name);

}  // namespace millrace
