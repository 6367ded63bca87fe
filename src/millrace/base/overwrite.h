// Overwrite: whether outputs that exist may be replaced.
#pragma once

namespace millrace {

// By default, every program refuses to replace a file. The same flag allows it in all of them.
enum class Overwrite { no, yes };

inline constexpr const char* overwrite_flag = "-y,--force";
inline constexpr const char* overwrite_help = "overwrite outputs that exist";

[[nodiscard]] constexpr Overwrite overwrite_if(bool asked) { return asked ? Overwrite::yes : Overwrite::no; }

}  // namespace millrace
