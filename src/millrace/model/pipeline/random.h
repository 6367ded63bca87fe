// Random: the random numbers of the simulations. The same seed gives the same numbers with every compiler and
// library, which the distributions of <random> do not guarantee.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace millrace::model {

// SplitMix64 (Steele, Lea, Flood 2014): a mixed counter. Used by one thread.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  [[nodiscard]] std::uint64_t bits() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  // In (0, 1], so its logarithm is finite.
  [[nodiscard]] double uniform() { return static_cast<double>((bits() >> 11U) + 1) * 0x1.0p-53; }
  // In [0, n), n >= 1. The bias of the remainder is below n / 2^64.
  [[nodiscard]] std::uint64_t below(std::uint64_t n) { return bits() % n; }
  [[nodiscard]] double exponential(double mean) { return -mean * std::log(uniform()); }
  // Mean 0, standard deviation 1 (Box and Muller 1958).
  [[nodiscard]] double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  // Rounds `mean` (0 to 2^62) down or up at random so that the long-run mean is exact. A whole mean is
  // returned without drawing a number.
  [[nodiscard]] std::int64_t whole(double mean) {
    const double least = std::floor(mean);
    return static_cast<std::int64_t>(least) + (mean > least && uniform() <= mean - least ? 1 : 0);
  }

 private:
  std::uint64_t state_;
};

}  // namespace millrace::model
