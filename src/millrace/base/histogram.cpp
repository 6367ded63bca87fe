#include "millrace/base/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

namespace millrace {
namespace {

// The upper 16 bits of a positive double, exponent and the first 4 bits of the fraction, ascend with the
// value: they are the bucket. 12 bits of sign and exponent, biased by 1023, leave 4 for the fraction.
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
// Bucket 0 holds the zeros, the others follow in the order of their bits.
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

nlohmann::json Histogram::to_json() const {
  auto listed = nlohmann::json::array();
  for (const Bucket& bucket : buckets())
    listed.push_back({bucket.lower, bucket.count});
  return {{"count", count_}, {"sum", sum_}, {"min", min()}, {"max", max_}, {"buckets", std::move(listed)}};
}

Result<Histogram> Histogram::from_json(const nlohmann::json& json) {
  if (!json.is_object()) return failure("a histogram is a JSON object, this is {}", json.type_name());
  const auto measure = [&](const char* name) -> Result<double> {
    const auto field = json.find(name);
    if (field == json.end() || !field->is_number() || !(field->get<double>() >= 0))
      return failure("field \"{}\" of a histogram must be a number from 0", name);
    return field->get<double>();
  };
  const auto count = json.find("count");
  const auto listed = json.find("buckets");
  if (count == json.end() || !count->is_number_unsigned())
    return failure("field \"count\" of a histogram must be a whole number from 0");
  if (listed == json.end() || !listed->is_array())
    return failure("field \"buckets\" of a histogram must be a list");
  Histogram result;
  for (const auto& entry : *listed) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_number() || !entry[1].is_number_unsigned())
      return failure("an entry of \"buckets\" of a histogram must be [lower bound, whole number]");
    const double lower = entry[0].get<double>();
    if (lower != lower_of(bucket_of(lower)))
      return failure("{} in \"buckets\" of a histogram is not the lower bound of a bucket", lower);
    const auto times = entry[1].get<std::uint64_t>();
    if (times > std::numeric_limits<std::uint64_t>::max() - result.count_)
      return failure("the counts in \"buckets\" of a histogram exceed 64 bits");
    if (times != 0) result.add(bucket_of(lower), times);
    result.count_ += times;
  }
  if (result.count_ != count->get<std::uint64_t>())
    return failure("the \"buckets\" of a histogram hold {} measurements, \"count\" says {}", result.count_,
                   count->get<std::uint64_t>());
  const auto sum = measure("sum");
  const auto least_value = measure("min");
  const auto greatest = measure("max");
  for (const auto* field : {&sum, &least_value, &greatest})
    if (!*field) return std::unexpected(field->error());
  if (result.count_ == 0) return Histogram{};
  result.sum_ = *sum;
  result.min_ = *least_value;
  result.max_ = *greatest;
  return result;
}

}  // namespace millrace
