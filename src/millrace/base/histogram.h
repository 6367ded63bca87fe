// Histogram: a distribution of non-negative measurements over many orders of magnitude, in little memory.
#pragma once

#include "millrace/base/export.h"
#include "millrace/base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace millrace {

// Log-scale buckets, 16 to each power of two: a quantile is wrong by at most 1/16 of its value, the mean not
// at all. The unit is the user's (service times: seconds). Values below 2^-40 (about 1e-12), zero and
// negative values and NaN count as zero; values from 2^40 on count as just below it, the mean and max keep
// them exact.
//
// A value type: copies are independent. Not synchronised: one histogram a thread, merged afterwards.
class MILLRACE_EXPORT Histogram {
 public:
  // Adds `times` measurements of `value`.
  void record(double value, std::uint64_t times = 1);
  // Adds all that `other` has recorded.
  void merge(const Histogram& other);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] double sum() const { return sum_; }
  // The three are 0 when nothing was recorded.
  [[nodiscard]] double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  [[nodiscard]] double min() const { return count_ == 0 ? 0 : min_; }
  [[nodiscard]] double max() const { return max_; }
  // Nearest rank: the least bucket that `q` of the measurements do not exceed, given as the bucket's middle
  // and kept within [min, max]. q is clamped to [0, 1]; 0 when nothing was recorded.
  [[nodiscard]] double quantile(double q) const;

  // A bucket that holds something: `count` measurements in [lower, upper). lower = 0 is the bucket of zeros.
  struct Bucket {
    double lower = 0;
    double upper = 0;
    std::uint64_t count = 0;
    friend bool operator==(const Bucket&, const Bucket&) = default;
  };
  // In ascending order.
  [[nodiscard]] std::vector<Bucket> buckets() const;

  // What buckets(), sum(), min() and max() of another told, which holds the same afterwards. Only `lower` and
  // `count` of a bucket are read. Failure where a lower end is none, or the counts exceed 64 bits.
  [[nodiscard]] static Result<Histogram> from_buckets(std::span<const Bucket> buckets, double sum, double min,
                                                      double max);

  friend bool operator==(const Histogram&, const Histogram&) = default;

 private:
  // counts_[i] belongs to bucket first_ + i; grows at both ends, so a narrow distribution stays small.
  void add(int bucket, std::uint64_t times);

  std::vector<std::uint64_t> counts_;
  int first_ = 0;
  std::uint64_t count_ = 0;
  double sum_ = 0;
  double min_ = 0;
  double max_ = 0;
};

}  // namespace millrace
