// The numbers that a stage's arithmetic uses beside pixels.
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

// Derived from parameters and geometry once for each frame size, in the precision the arithmetic uses: a few
// coefficients, and for filters that say `has_table` a table of any length: the weights of a window, a curve.
// What each means is the filter's own affair. Copies share their table, which nobody changes.
class Coefficients {
 public:
  // At most max_coefficients; those that are not given are 0.
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
  // Empty where the filter has none.
  [[nodiscard]] std::span<const float> table() const {
    return table_ == nullptr ? std::span<const float>() : std::span<const float>(*table_);
  }
  // To the last bit: 0 and -0 make different pixels, and what is no number is the same as itself.
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
