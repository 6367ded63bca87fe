#include "millrace/base/numbers/histogram_json.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace millrace {
namespace {

// Samples spread over `decades` powers of ten below one second.
std::vector<double> log_uniform(unsigned seed, double decades, std::size_t count) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> exponent(-decades, 0);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(std::pow(10.0, exponent(random)));
  return values;
}

Histogram of(const std::vector<double>& values) {
  Histogram histogram;
  for (const double value : values)
    histogram.record(value);
  return histogram;
}

class HistogramOf : public testing::TestWithParam<double> {
 protected:
  std::vector<double> values_ = log_uniform(7, GetParam(), 5001);
  Histogram histogram_ = of(values_);
};

TEST_P(HistogramOf, keeps_quantiles_within_a_sixteenth) {
  std::ranges::sort(values_);
  for (const double q : {0.0, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::max(1.0, std::ceil(q * 5001.0))) - 1;
    EXPECT_NEAR(histogram_.quantile(q), values_[rank], values_[rank] / 16) << q;
  }
}

TEST_P(HistogramOf, keeps_count_mean_and_extremes_exactly) {
  double sum = 0;
  for (const double value : values_)
    sum += value;
  EXPECT_EQ(histogram_.count(), values_.size());
  EXPECT_DOUBLE_EQ(histogram_.mean(), sum / static_cast<double>(values_.size()));
  EXPECT_EQ(histogram_.min(), std::ranges::min(values_));
  EXPECT_EQ(histogram_.max(), std::ranges::max(values_));
}

TEST_P(HistogramOf, merged_parts_equal_the_whole) {
  Histogram low;
  Histogram high;
  for (std::size_t i = 0; i < values_.size(); ++i)
    (values_[i] < 0.01 ? low : high).record(values_[i]);
  for (const bool low_first : {true, false}) {
    Histogram merged = low_first ? low : high;
    merged.merge(low_first ? high : low);
    EXPECT_EQ(merged.buckets(), histogram_.buckets());
    EXPECT_EQ(merged.count(), histogram_.count());
    EXPECT_EQ(merged.max(), histogram_.max());
    EXPECT_EQ(merged.min(), histogram_.min());
    EXPECT_NEAR(merged.sum(), histogram_.sum(), 1e-9);
  }
}

TEST_P(HistogramOf, survives_json_unchanged) {
  const auto text = to_json(histogram_).dump();
  const auto back = histogram_from_json(nlohmann::json::parse(text));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, histogram_);
}

INSTANTIATE_TEST_SUITE_P(spread_over_decades, HistogramOf, testing::Values(0.0, 0.5, 3.0, 11.0));

TEST(Histogram, every_bucket_holds_its_bounds_and_touches_the_next) {
  Histogram histogram;
  for (int power = -39 * 70; power < 39 * 70; ++power)
    histogram.record(std::exp2(power / 70.0));
  const auto buckets = histogram.buckets();
  ASSERT_GT(buckets.size(), 1000U);
  for (std::size_t i = 0; i + 1 < buckets.size(); ++i)
    ASSERT_EQ(buckets[i].upper, buckets[i + 1].lower);
}

TEST(Histogram, counts_what_is_no_positive_number_as_zero) {
  for (const double value : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), 1e-300}) {
    Histogram histogram;
    histogram.record(value);
    ASSERT_EQ(histogram.buckets().size(), 1U);
    EXPECT_EQ(histogram.buckets()[0].lower, 0);
    EXPECT_LE(histogram.quantile(0.5), 1e-300);
  }
}

TEST(Histogram, weighs_a_repeated_measurement) {
  Histogram weighted;
  weighted.record(0.25, 3);
  weighted.record(4);
  EXPECT_EQ(weighted, of({0.25, 0.25, 0.25, 4}));
}

TEST(Histogram, is_all_zeros_when_empty) {
  const Histogram empty;
  EXPECT_EQ(empty.mean(), 0);
  EXPECT_EQ(empty.quantile(0.5), 0);
  EXPECT_TRUE(empty.buckets().empty());
  const auto back = histogram_from_json(to_json(empty));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, empty);
}

class DamagedHistogram : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(DamagedHistogram, is_refused_and_the_field_named) {
  const auto result = histogram_from_json(nlohmann::json::parse(GetParam().first));
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find(GetParam().second), std::string::npos) << result.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    json, DamagedHistogram,
    testing::Values(std::pair{"[]", "object"}, std::pair{R"({"buckets":[]})", "count"},
                    std::pair{R"({"count":-1,"buckets":[]})", "count"},
                    std::pair{R"({"count":0})", "buckets"},
                    std::pair{R"({"count":2,"sum":1,"min":1,"max":1,"buckets":[[1,1]]})", "2"},
                    std::pair{R"({"count":1,"sum":1,"min":1,"max":1,"buckets":[[1.01,1]]})", "lower bound"},
                    std::pair{R"({"count":1,"sum":1,"min":1,"max":1,"buckets":[[1]]})", "buckets"},
                    std::pair{R"({"count":1,"min":1,"max":1,"buckets":[[1,1]]})", "sum"},
                    std::pair{R"({"count":1,"sum":"x","min":1,"max":1,"buckets":[[1,1]]})", "sum"},
                    std::pair{
                        R"({"count":0,"sum":0,"min":0,"max":0,"buckets":[[1,18446744073709551615],[2,1]]})",
                        "64 bits"}));

}  // namespace
}  // namespace millrace
