// Histogram: a compact distribution of non-negative measurements over many orders of magnitude.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/base/error/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace millrace {

// Logarithmic buckets, 16 per power of two. A quantile is off by at most 1/16 of its value; the mean is
// exact. The caller chooses the unit (service times: seconds). Values below 2^-40 (about 1e-12), zero,
// negative values and NaN count as zero. Values of 2^40 and above go to the last bucket, but the mean and max
// remain exact.
//
// A value type: copies are independent. Not synchronised: use one histogram per thread and merge them.
class MILLRACE_EXPORT Histogram {
 public:
  // Adds `times` measurements of `value`.
  void record(double value, std::uint64_t times = 1);
  // Adds all that `other` has recorded.
  void merge(const Histogram& other);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] double sum() const { return sum_; }
  // mean(), min() and max() are 0 if nothing was recorded.
  [[nodiscard]] double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  [[nodiscard]] double min() const { return count_ == 0 ? 0 : min_; }
  [[nodiscard]] double max() const { return max_; }
  // Nearest rank: the first bucket that at least a share `q` of the measurements does not exceed. Returns the
  // middle of the bucket, clamped to [min, max]. q is clamped to [0, 1]. Returns 0 if nothing was recorded.
  [[nodiscard]] double quantile(double q) const;

  // A non-empty bucket: `count` measurements in [lower, upper). lower = 0 is the bucket of zeros.
  struct Bucket {
    double lower = 0;
    double upper = 0;
    std::uint64_t count = 0;
    friend bool operator==(const Bucket&, const Bucket&) = default;
  };
  // In ascending order.
  [[nodiscard]] std::vector<Bucket> buckets() const;

  // Rebuilds a histogram from its buckets(), sum(), min() and max(); the result equals the original. Only
  // `lower` and `count` of each bucket are read. Fails if a `lower` is not a bucket boundary or if the counts
  // overflow 64 bits.
  [[nodiscard]] static Result<Histogram> from_buckets(std::span<const Bucket> buckets, double sum, double min,
                                                      double max);

  friend bool operator==(const Histogram&, const Histogram&) = default;

 private:
  // counts_[i] belongs to bucket first_ + i. It grows at both ends, so a narrow distribution stays small.
  void add(int bucket, std::uint64_t times);

  std::vector<std::uint64_t> counts_;
  int first_ = 0;
  std::uint64_t count_ = 0;
  double sum_ = 0;
  double min_ = 0;
  double max_ = 0;
};

}  // namespace millrace
