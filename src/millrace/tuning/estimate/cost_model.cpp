#include "millrace/tuning/estimate/cost_model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace millrace::tuning {
namespace {

// Standard deviations of log cost. Schedules of one pipeline are typically within a factor of 3.
constexpr float constant_variance = 0.3F * 0.3F;
constexpr float additive_variance = 0.35F * 0.35F;
constexpr float product_variance = 0.25F * 0.25F;
// Half of the prior's differences are believed; their true weight may be anything from none to all.
constexpr float prior_weight = 0.5F;
constexpr float prior_weight_variance = 0.4F * 0.4F;
constexpr float prior_limit = 2.0F;

constexpr float categorical_likeness = 0.4F;  // in the product, for different values
constexpr float ordinal_reach = 2.5F;         // steps over which the similarity falls to 1/e

constexpr int kept_points = 64;  // after thinning out
constexpr int kept_recent = 20;

std::vector<float> likeness(const Knob& knob, float categorical) {
  const std::size_t n = knob.values.size();
  std::vector<float> table(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const float steps = std::abs(static_cast<float>(i) - static_cast<float>(j));
      const float unequal = knob.ordinal ? std::exp(-steps / ordinal_reach) : categorical;
      table[i * n + j] = i == j ? 1.0F : unequal;
    }
  }
  return table;
}

}  // namespace

CostModel::CostModel(const Space& space, std::span<const double> prior)
    : space_(&space), size_(static_cast<std::size_t>(space.size())) {
  for (const Knob& knob : space.knobs()) {
    additive_.push_back(likeness(knob, 0));
    product_.push_back(likeness(knob, categorical_likeness));
  }
  if (!prior.empty()) {
    const double best = std::log(*std::ranges::min_element(prior));
    for (const double cost : prior) {
      prior_.push_back(std::min(prior_limit, static_cast<float>(std::log(cost) - best)));
    }
  }
  points_.reserve(max_points);
  rows_ = std::make_unique_for_overwrite<float[]>(max_points * size_);
  mean_.resize(size_);
  variance_.resize(size_);
  clear();
}

void CostModel::clear() {
  points_.clear();
  rebuild();
}

double CostModel::deviation(int candidate) const {
  return std::sqrt(static_cast<double>(variance_[static_cast<std::size_t>(candidate)]));
}

void CostModel::observe(int candidate, double log_cost, double deviation) {
  if (points_.size() == max_points) {
    thin_out();
    rebuild();
  }
  const auto variance = static_cast<float>(std::max(deviation * deviation, 1e-5));
  points_.push_back({candidate, static_cast<float>(log_cost), variance});
  condition_on(points_.size() - 1);
}

void CostModel::widen(double deviation, double origin, double ceiling) {
  if (points_.size() > kept_points) thin_out();
  for (Point& point : points_) {
    point.variance += static_cast<float>(deviation * deviation);
    point.log_cost = std::min(point.log_cost - static_cast<float>(origin), static_cast<float>(ceiling));
  }
  rebuild();
}

// Keeps the last point of each candidate. Of those, keeps the latest and the best.
void CostModel::thin_out() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const auto same = [&](const Point& later) { return later.candidate == points_[i].candidate; };
    if (std::none_of(points_.begin() + static_cast<std::ptrdiff_t>(i) + 1, points_.end(), same)) {
      points_[kept++] = points_[i];
    }
  }
  points_.erase(points_.begin() + static_cast<std::ptrdiff_t>(kept), points_.end());
  if (points_.size() <= kept_points) return;
  const auto recent = points_.end() - kept_recent;
  std::sort(points_.begin(), recent, [](const Point& a, const Point& b) {
    return a.log_cost != b.log_cost ? a.log_cost < b.log_cost : a.candidate < b.candidate;
  });
  points_.erase(points_.begin() + (kept_points - kept_recent), recent);
}

void CostModel::rebuild() {
  for (std::size_t c = 0; c < size_; ++c) {
    const float prior = prior_.empty() ? 0 : prior_[c];
    mean_[c] = prior_weight * prior;
    variance_[c] =
        constant_variance + additive_variance + product_variance + prior_weight_variance * prior * prior;
  }
  for (std::size_t i = 0; i < points_.size(); ++i)
    condition_on(i);
}

void CostModel::covariance_row(int candidate, std::span<float> row) const {
  const auto own = space_->values(candidate);
  const std::size_t knobs = own.size();
  const float share = additive_variance / static_cast<float>(knobs);
  for (std::size_t c = 0; c < size_; ++c) {
    const auto other = space_->values(static_cast<int>(c));
    float sum = 0;
    float product = product_variance;
    for (std::size_t k = 0; k < knobs; ++k) {
      const std::size_t at = static_cast<std::size_t>(own[k]) * space_->knobs()[k].values.size() +
                             static_cast<std::size_t>(other[k]);
      sum += additive_[k][at];
      product *= product_[k][at];
    }
    row[c] = constant_variance + share * sum + product;
  }
  if (prior_.empty()) return;
  const float scaled = prior_weight_variance * prior_[static_cast<std::size_t>(candidate)];
  for (std::size_t c = 0; c < size_; ++c)
    row[c] += scaled * prior_[c];
}

// Rank-one conditioning: cov' = cov - r r^T and mean' = mean + r (y - mean) / s. Here s is the deviation of
// the new observation under the current posterior, and r the posterior covariance of all candidates with it,
// divided by s. The rows of earlier points give the posterior covariance as prior covariance - sum of r_j
// r_j^T.
void CostModel::condition_on(std::size_t index) {
  const Point& point = points_[index];
  const auto self = static_cast<std::size_t>(point.candidate);
  const std::span<float> row = std::span(rows_.get() + index * size_, size_);
  covariance_row(point.candidate, row);
  for (std::size_t j = 0; j < index; ++j) {
    const float* const earlier = rows_.get() + j * size_;
    const float factor = earlier[self];
    for (std::size_t c = 0; c < size_; ++c)
      row[c] -= factor * earlier[c];
  }
  const float deviation = std::sqrt(variance_[self] + point.variance);
  const float step = (point.log_cost - mean_[self]) / deviation;
  for (std::size_t c = 0; c < size_; ++c) {
    row[c] /= deviation;
    mean_[c] += row[c] * step;
    variance_[c] = std::max(variance_[c] - row[c] * row[c], 1e-7F);
  }
}

}  // namespace millrace::tuning
