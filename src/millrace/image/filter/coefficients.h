// The numbers that a stage's arithmetic uses in addition to pixels.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace millrace::image {

inline constexpr int max_coefficients = 8;

// Derived once per frame size from parameters and geometry, in the precision of the arithmetic. Filters with
// `has_table` also get a table of any length, such as the weights of a window or a curve. Each filter defines
// their meaning. Copies share the immutable table.
class Coefficients {
 public:
  // At most max_coefficients; the rest are 0.
  Coefficients(std::initializer_list<float> values = {}, std::vector<float> table = {})
      : table_(table.empty() ? nullptr : std::make_shared<const std::vector<float>>(std::move(table))) {
    std::size_t i = 0;
    for (const float value : values)
      values_.at(i++) = value;
  }

  [[nodiscard]] const float& operator[](std::size_t i) const { return values_[i]; }
  void set(std::size_t i, float value) { values_.at(i) = value; }
  [[nodiscard]] auto begin() const { return values_.begin(); }
  [[nodiscard]] auto end() const { return values_.end(); }
  // Empty if the filter has no table.
  [[nodiscard]] std::span<const float> table() const {
    return table_ == nullptr ? std::span<const float>() : std::span<const float>(*table_);
  }
  // Compares bits: 0 and -0 make different pixels, and a NaN equals itself.
  [[nodiscard]] bool operator==(const Coefficients& other) const {
    constexpr auto same = [](float a, float b) {
      return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
    };
    return std::ranges::equal(values_, other.values_, same) &&
           std::ranges::equal(table(), other.table(), same);
  }

 private:
  std::array<float, max_coefficients> values_{};
  std::shared_ptr<const std::vector<float>> table_;
};

}  // namespace millrace::image
