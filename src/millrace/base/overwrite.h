// Overwrite: whether outputs that exist may be replaced.
#pragma once

namespace millrace {

// Every program refuses to replace a file unless its user says otherwise, by the same flag.
enum class Overwrite { no, yes };

inline constexpr const char* overwrite_flag = "-y,--force";
inline constexpr const char* overwrite_help = "overwrite outputs that exist";

[[nodiscard]] constexpr Overwrite overwrite_if(bool asked) { return asked ? Overwrite::yes : Overwrite::no; }

}  // namespace millrace
