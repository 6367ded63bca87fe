// Times and numbers as people write them: "0.55ms".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace::model {

// Seconds; the text is a number with one of the units s, ms, us, ns right behind it. May be negative.
[[nodiscard]] std::optional<double> parse_seconds(std::string_view text);
// Whole numbers without sign.
[[nodiscard]] std::optional<int> parse_count(std::string_view text);

// Four significant digits with the unit that suits: "550.0 us".
[[nodiscard]] std::string seconds_text(double seconds);

}  // namespace millrace::model
