#include "millrace/intensity/estimate/overlap.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>

namespace millrace::intensity {
namespace {

constexpr std::uint64_t block_bytes = 2U << 20;
constexpr std::size_t least_samples = 20;

using Shares = std::unordered_map<std::uint64_t, double>;

// Uses every `step`th address, beginning with `first`.
Shares shares_of(std::span<const std::uint64_t> addresses, std::size_t first, std::size_t step) {
  Shares shares;
  double count = 0;
  for (std::size_t i = first; i < addresses.size(); i += step, ++count)
    ++shares[addresses[i] / block_bytes];
  for (auto& [block, share] : shares)
    share /= count;
  return shares;
}

double in_common(const Shares& a, const Shares& b) {
  double sum = 0;
  for (const auto& [block, share] : a)
    if (const auto other = b.find(block); other != b.end()) sum += std::min(share, other->second);
  return sum;
}

}  // namespace

double overlap(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
  const std::size_t samples = std::min(a.size(), b.size());
  if (samples < least_samples) return 0;
  // The same number of both, the latest ones.
  a = a.last(samples);
  b = b.last(samples);
  // Halves, so that both sides of the ratio compare independent samples of the same size.
  const Shares a0 = shares_of(a, 0, 2);
  const Shares a1 = shares_of(a, 1, 2);
  const Shares b0 = shares_of(b, 0, 2);
  const Shares b1 = shares_of(b, 1, 2);
  const double between = (in_common(a0, b0) + in_common(a0, b1) + in_common(a1, b0) + in_common(a1, b1)) / 4;
  const double within = (in_common(a0, a1) + in_common(b0, b1)) / 2;
  return within > 0 ? std::min(between / within, 1.0) : 0;
}

}  // namespace millrace::intensity
