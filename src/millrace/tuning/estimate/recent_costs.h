// The incumbent's most recent frames.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace millrace::tuning {

// A ring buffer with the log costs and seconds of the last trusted frames of one candidate.
class RecentCosts {
 public:
  static constexpr std::size_t capacity = 16;
  using Values = std::array<double, capacity>;

  void clear() { size_ = next_ = 0; }
  void add(double log_cost, double seconds) {
    log_costs_[next_] = log_cost;
    seconds_[next_] = seconds;
    next_ = (next_ + 1) % capacity;
    size_ = std::min(size_ + 1, capacity);
  }
  [[nodiscard]] std::size_t size() const { return size_; }

  // The last n log costs, or fewer if there are not as many, in no particular order.
  [[nodiscard]] std::span<const double> last(std::size_t n, Values& storage) const {
    n = std::min(n, size_);
    for (std::size_t i = 0; i < n; ++i)
      storage[i] = log_costs_[(next_ + capacity - 1 - i) % capacity];
    return std::span(storage).first(n);
  }
  // Median seconds per frame; 0 if there are no frames.
  [[nodiscard]] double median_seconds() const {
    if (size_ == 0) return 0;
    Values copy = seconds_;
    const auto middle = copy.begin() + static_cast<std::ptrdiff_t>(size_ / 2);
    std::nth_element(copy.begin(), middle, copy.begin() + static_cast<std::ptrdiff_t>(size_));
    return *middle;
  }

 private:
  Values log_costs_{};
  Values seconds_{};
  std::size_t next_ = 0;
  std::size_t size_ = 0;
};

}  // namespace millrace::tuning
