// Overwrite: whether outputs that exist may be replaced.
#pragma once

namespace millrace {

// By default, every program refuses to replace a file. The flag of add_overwrite_flag() allows it in all of
// them.
enum class Overwrite { no, yes };

[[nodiscard]] constexpr Overwrite overwrite_if(bool asked) { return asked ? Overwrite::yes : Overwrite::no; }

}  // namespace millrace
