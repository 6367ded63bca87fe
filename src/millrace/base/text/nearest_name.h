// Suggests a name for a misspelt one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace millrace {

// The candidate with the smallest optimal string alignment distance: insertions, deletions, substitutions and
// swaps of neighbouring letters. Ignores case. Ties go to the first candidate. Returns nothing if more than a
// third of the letters would change, because a wild guess does not help. The result is a view into
// `candidates`.
[[nodiscard]] std::optional<std::string_view> nearest_name(std::string_view word,
                                                           std::span<const std::string_view> candidates);

// "; did you mean 'blur'?", the tail of an error message. Empty if no candidate is near.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace millrace
