// What a user may have meant by a misspelt name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace millrace {

// The candidate that takes the fewest single-letter insertions, deletions, substitutions and swaps of
// neighbours to reach (optimal string alignment distance; case is ignored), the first of them where several
// do. None where more than a third of the letters would change: a wild guess helps nobody. Views into
// `candidates`.
[[nodiscard]] std::optional<std::string_view> nearest_name(std::string_view word,
                                                           std::span<const std::string_view> candidates);

// "; did you mean 'blur'?", or nothing where no candidate is near: the tail of an error message.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace millrace
