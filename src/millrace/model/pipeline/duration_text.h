// Parses and prints durations and counts in human notation: "0.55ms".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace::model {

// Parses a number directly followed by one of the units s, ms, us, ns. Returns seconds, which may be
// negative.
[[nodiscard]] std::optional<double> parse_seconds(std::string_view text);
// Parses a whole number without a sign.
[[nodiscard]] std::optional<int> parse_count(std::string_view text);

// Four significant digits with a suitable unit: "550.0 us".
[[nodiscard]] std::string seconds_text(double seconds);

}  // namespace millrace::model
