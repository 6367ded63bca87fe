#include "millrace/model/pipeline/service_time.h"

#include <algorithm>
#include <cmath>

namespace millrace::model {

ServiceTime::ServiceTime(double mean_seconds, double cv) : mean_(mean_seconds), cv_(cv) {
  if (mean_ > 0) {
    const double variance = std::log1p(cv * cv);
    log_mean_ = std::log(mean_) - variance / 2;
    log_sigma_ = std::sqrt(variance);
  }
}

Result<ServiceTime> ServiceTime::with_variation(double mean_seconds, double cv) {
  if (!std::isfinite(mean_seconds) || mean_seconds < 0)
    return usage_error("a service time of {} s; give a finite time of 0 or more", mean_seconds);
  if (!std::isfinite(cv) || cv < 0)
    return usage_error("a coefficient of variation of {}; give a finite number of 0 or more", cv);
  return ServiceTime(mean_seconds, cv);
}

Result<ServiceTime> ServiceTime::from_histogram(const std::vector<HistogramBin>& bins) {
  double items = 0;
  double sum = 0;
  double squares = 0;
  for (const HistogramBin& bin : bins) {
    if (!(bin.low_seconds >= 0 && bin.high_seconds >= bin.low_seconds && std::isfinite(bin.high_seconds)) ||
        bin.items < 0) {
      return usage_error(
          "a histogram bin of {} items from {} to {} s; times must be finite, not negative and "
          "in order",
          bin.items, bin.low_seconds, bin.high_seconds);
    }
    const auto n = static_cast<double>(bin.items);
    const double low = bin.low_seconds;
    const double high = bin.high_seconds;
    items += n;
    sum += n * (low + high) / 2;
    squares += n * (low * low + low * high + high * high) / 3;
  }
  if (items == 0) return usage_error("a service-time histogram without any item; record a run that has some");
  const double mean = sum / items;
  const double variance = std::max(0.0, squares / items - mean * mean);
  ServiceTime result(mean, mean > 0 ? std::sqrt(variance) / mean : 0);
  double counted = 0;
  for (const HistogramBin& bin : bins) {
    if (bin.items == 0) continue;
    counted += static_cast<double>(bin.items);
    result.steps_.push_back({counted / items, bin.low_seconds, bin.high_seconds});
  }
  result.steps_.back().until = 1;  // corrects rounding errors
  return result;
}

double ServiceTime::sample(Random& random) const {
  if (!steps_.empty()) {
    const double u = random.uniform();
    const auto step = std::ranges::lower_bound(steps_, u, {}, &Step::until);
    return step->low + (step->high - step->low) * random.uniform();
  }
  if (cv_ == 0 || mean_ == 0) return mean_;
  if (cv_ == 1) return random.exponential(mean_);
  return std::exp(log_mean_ + log_sigma_ * random.normal());
}

ServiceTime ServiceTime::scaled(double factor) const {
  ServiceTime result(mean_ * factor, cv_);
  result.steps_ = steps_;
  for (Step& step : result.steps_) {
    step.low *= factor;
    step.high *= factor;
  }
  return result;
}

}  // namespace millrace::model
