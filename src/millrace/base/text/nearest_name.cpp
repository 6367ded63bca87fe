#include "millrace/base/text/nearest_name.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace millrace {
namespace {

constexpr std::size_t longest_word = 64;  // bounds the quadratic cost; no name is this long

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::size_t distance(std::string_view a, std::string_view b) {
  // Rows of the dynamic programming table for the prefixes of `a`.
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> previous(b.size() + 1);
  std::vector<std::size_t> current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (same ? 0U : 1U)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

}  // namespace

std::optional<std::string_view> nearest_name(std::string_view word,
                                             std::span<const std::string_view> candidates) {
  if (word.empty() || word.size() > longest_word) return std::nullopt;
  std::optional<std::string_view> nearest;
  std::size_t fewest = 0;
  for (std::string_view candidate : candidates) {
    const std::size_t edits = distance(word, candidate);
    const std::size_t letters = std::max(word.size(), candidate.size());
    const std::size_t allowed = std::max<std::size_t>(1, letters / 3);
    if (edits > allowed || edits >= letters || (nearest && edits >= fewest)) continue;
    nearest = candidate;
    fewest = edits;
  }
  return nearest;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const auto nearest = nearest_name(word, candidates);
  return nearest ? fmt::format("; did you mean '{}'?", *nearest) : std::string();
}

}  // namespace millrace
