#include "millrace/placement/trials/gain_evidence.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace millrace::placement {

void GainEvidence::add(double log_ratio) {
  // The scale is known before the new ratio: the ratios so far, or the usual scatter of windows.
  constexpr double usual = 0.03;
  constexpr double of_the_median = 0.6;
  double large = usual;
  if (!sizes_.empty()) {
    const auto middle = sizes_.begin() + static_cast<std::ptrdiff_t>(sizes_.size() / 2);
    std::ranges::nth_element(sizes_, middle);
    large = std::max(of_the_median * *middle, 1e-9);
  }
  const double win = std::clamp(log_ratio / large, -1.0, 1.0);
  for (std::size_t i = 0; i < stakes.size(); ++i)
    fortunes_[i] *= 1 + stakes[i] * win;
  sizes_.push_back(std::abs(log_ratio));
}

double GainEvidence::best_after(int ratios) const {
  double sum = 0;
  for (std::size_t i = 0; i < shares.size(); ++i)
    sum += shares[i] * fortunes_[i] * std::pow(1 + stakes[i], ratios);
  return sum;
}

double GainEvidence::value() const { return best_after(0); }

}  // namespace millrace::placement
