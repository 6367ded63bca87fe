// Coin: decides at random which of two goes first.
#pragma once

#include <cstdint>

namespace millrace::placement {

// xorshift64* (Vigna 2016), which is good enough to shuffle an order.
class Coin {
 public:
  explicit Coin(std::uint64_t seed) : state_(seed | 1) {}
  [[nodiscard]] bool toss() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    constexpr int highest = 63;
    return (state_ * 2685821657736338717U) >> highest != 0;
  }

 private:
  std::uint64_t state_;
};

}  // namespace millrace::placement
