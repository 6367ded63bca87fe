#include "millrace/base/numbers/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace millrace {
namespace {

// The bucket is the upper 16 bits of a positive double, which increase with the value: 12 bits of sign and
// exponent (bias 1023) and the first 4 bits of the fraction.
constexpr int fraction_bits = 52;
constexpr int kept_bits = 4;
constexpr int raw_bucket(double value) {
  return static_cast<int>(std::bit_cast<std::uint64_t>(value) >> (fraction_bits - kept_bits));
}
constexpr double raw_lower(int raw) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(raw) << (fraction_bits - kept_bits));
}

constexpr double least = 0x1p-40;
constexpr double beyond = 0x1p40;
// Bucket 0 holds the zeros. The others follow in ascending order.
constexpr int raw_of_first = raw_bucket(least) - 1;
constexpr int bucket_count = raw_bucket(beyond) - raw_of_first;

int bucket_of(double value) {
  if (!(value >= least)) return 0;
  if (value >= beyond) return bucket_count - 1;
  return raw_bucket(value) - raw_of_first;
}
double lower_of(int bucket) { return bucket == 0 ? 0 : raw_lower(bucket + raw_of_first); }
double upper_of(int bucket) { return raw_lower(bucket + 1 + raw_of_first); }

}  // namespace

void Histogram::add(int bucket, std::uint64_t times) {
  if (counts_.empty()) first_ = bucket;
  if (bucket < first_) {
    counts_.insert(counts_.begin(), static_cast<std::size_t>(first_ - bucket), 0);
    first_ = bucket;
  }
  const auto index = static_cast<std::size_t>(bucket - first_);
  if (index >= counts_.size()) counts_.resize(index + 1, 0);
  counts_[index] += times;
}

void Histogram::record(double value, std::uint64_t times) {
  if (times == 0) return;
  if (!(value > 0)) value = 0;
  add(bucket_of(value), times);
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = std::max(max_, value);
  count_ += times;
  sum_ += value * static_cast<double>(times);
}

void Histogram::merge(const Histogram& other) {
  if (other.count_ == 0) return;
  for (std::size_t i = 0; i < other.counts_.size(); ++i)
    if (other.counts_[i] != 0) add(other.first_ + static_cast<int>(i), other.counts_[i]);
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  count_ += other.count_;
  sum_ += other.sum_;
}

double Histogram::quantile(double q) const {
  if (count_ == 0) return 0;
  const double rank = std::clamp(q, 0.0, 1.0) * static_cast<double>(count_);
  std::uint64_t seen = 0;
  for (const Bucket& bucket : buckets()) {
    seen += bucket.count;
    if (static_cast<double>(seen) >= rank)
      return bucket.lower == 0 ? min_ : std::clamp((bucket.lower + bucket.upper) / 2, min_, max_);
  }
  return max_;
}

std::vector<Histogram::Bucket> Histogram::buckets() const {
  std::vector<Bucket> result;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const int bucket = first_ + static_cast<int>(i);
    if (counts_[i] != 0) result.push_back({lower_of(bucket), upper_of(bucket), counts_[i]});
  }
  return result;
}

Result<Histogram> Histogram::from_buckets(std::span<const Bucket> buckets, double sum, double min,
                                          double max) {
  Histogram result;
  for (const Bucket& bucket : buckets) {
    if (bucket.lower != lower_of(bucket_of(bucket.lower)))
      return failure("{} in \"buckets\" of a histogram is not the lower bound of a bucket", bucket.lower);
    if (bucket.count > std::numeric_limits<std::uint64_t>::max() - result.count_)
      return failure("the counts in \"buckets\" of a histogram exceed 64 bits");
    if (bucket.count != 0) result.add(bucket_of(bucket.lower), bucket.count);
    result.count_ += bucket.count;
  }
  if (result.count_ == 0) return Histogram{};
  result.sum_ = sum;
  result.min_ = min;
  result.max_ = max;
  return result;
}

}  // namespace millrace
