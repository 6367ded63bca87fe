// ServiceTime: the time that a stage needs for one item, as mean and variation or as a recorded histogram.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/base/error/result.h"
#include "millrace/model/pipeline/random.h"

#include <cstdint>
#include <vector>

namespace millrace::model {

// `items` items took at least `low` and less than `high` seconds.
struct HistogramBin {
  double low_seconds = 0;
  double high_seconds = 0;
  std::int64_t items = 0;
};

// A distribution of service times. A value type; sampling needs only the given Random.
class MILLRACE_EXPORT ServiceTime {
 public:
  // mean_seconds >= 0. cv: coefficient of variation (standard deviation / mean), >= 0. cv 0 is constant, cv 1
  // exponential (as the queueing formulas assume), any other value log-normal with these two moments. Returns
  // a usage error outside these ranges.
  [[nodiscard]] static Result<ServiceTime> with_variation(double mean_seconds, double cv);
  // Exponential. mean_seconds must be finite and >= 0.
  [[nodiscard]] static ServiceTime exponential(double mean_seconds) { return {mean_seconds, 1.0}; }
  [[nodiscard]] static ServiceTime constant(double seconds) { return {seconds, 0.0}; }
  // Uniform within each bin. Returns a usage error if there are no items, or if a bin is negative or
  // reversed.
  [[nodiscard]] static Result<ServiceTime> from_histogram(const std::vector<HistogramBin>& bins);

  [[nodiscard]] double mean_seconds() const { return mean_; }
  [[nodiscard]] double cv() const { return cv_; }
  [[nodiscard]] double sample(Random& random) const;
  // The same shape, with every time multiplied by factor >= 0.
  [[nodiscard]] ServiceTime scaled(double factor) const;

 private:
  struct Step {
    double until;  // cumulative share of items
    double low;
    double high;
  };
  ServiceTime(double mean_seconds, double cv);

  double mean_;
  double cv_;
  double log_mean_ = 0;  // of the logarithm, for the log-normal
  double log_sigma_ = 0;
  std::vector<Step> steps_;  // of the histogram; empty without one
};

}  // namespace millrace::model
