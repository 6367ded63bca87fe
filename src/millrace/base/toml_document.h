// A document in TOML of unknown origin, read so that it can do no harm.
#pragma once

#include "millrace/base/result.h"

#include <cstddef>
#include <string_view>

#include <toml++/toml.h>

namespace millrace {

// How deep tables and arrays may lie in each other, counted twice: by the header of a table ([a.b.c]), and by
// what a line below it says (d.e = {f = [1]}). The reader calls itself for each level, and so does whatever
// frees the document, where thousands of levels end the program.
inline constexpr std::size_t most_toml_levels = 32;

// The text must be bounded by whoever read it. Usage errors, of one line with the file's name and the line's
// number: not valid TOML; more levels than that.
[[nodiscard]] Result<toml::table> parse_toml(std::string_view text, std::string_view file_name);

}  // namespace millrace
