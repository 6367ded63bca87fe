// Arbitrary-precision natural numbers, for tests against exact results.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace millrace::model {

class ExactNatural {
 public:
  ExactNatural(std::uint32_t value = 0)
      : digits_{value} {}  // NOLINT: implicit like conversions of built-in numbers

  ExactNatural& operator+=(const ExactNatural& other) {
    digits_.resize(std::max(digits_.size(), other.digits_.size()) + 1, 0);
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < digits_.size(); ++i) {
      carry += digits_[i];
      if (i < other.digits_.size()) carry += other.digits_[i];
      digits_[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32U;
    }
    trim();
    return *this;
  }

  friend ExactNatural operator*(const ExactNatural& a, const ExactNatural& b) {
    ExactNatural product;
    product.digits_.assign(a.digits_.size() + b.digits_.size(), 0);
    for (std::size_t i = 0; i < a.digits_.size(); ++i) {
      std::uint64_t carry = 0;
      for (std::size_t j = 0; j < b.digits_.size() || carry != 0; ++j) {
        carry += product.digits_[i + j];
        if (j < b.digits_.size()) carry += std::uint64_t{a.digits_[i]} * b.digits_[j];
        product.digits_[i + j] = static_cast<std::uint32_t>(carry);
        carry >>= 32U;
      }
    }
    product.trim();
    return product;
  }

  // a / b for b > 0, with nearly full double precision.
  friend double ratio(const ExactNatural& a, const ExactNatural& b) {
    const auto shift = 32 * (static_cast<int>(a.digits_.size()) - static_cast<int>(b.digits_.size()));
    return std::ldexp(a.leading() / b.leading(), shift);
  }

 private:
  void trim() {
    while (digits_.size() > 1 && digits_.back() == 0)
      digits_.pop_back();
  }
  // The leading digits, with the first as the integral part.
  [[nodiscard]] double leading() const {
    long double value = 0;
    for (std::size_t i = digits_.size() - std::min<std::size_t>(4, digits_.size()); i < digits_.size(); ++i)
      value = value / 4294967296.0L + digits_[i];
    return static_cast<double>(value);
  }

  std::vector<std::uint32_t> digits_;  // base 2^32, least significant first
};

}  // namespace millrace::model
