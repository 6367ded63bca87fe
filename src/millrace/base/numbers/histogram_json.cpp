#include "millrace/base/numbers/histogram_json.h"

#include <nlohmann/json.hpp>

namespace millrace {

nlohmann::json to_json(const Histogram& histogram) {
  auto listed = nlohmann::json::array();
  for (const Histogram::Bucket& bucket : histogram.buckets())
    listed.push_back({bucket.lower, bucket.count});
  return {{"count", histogram.count()},
          {"sum", histogram.sum()},
          {"min", histogram.min()},
          {"max", histogram.max()},
          {"buckets", std::move(listed)}};
}

Result<Histogram> histogram_from_json(const nlohmann::json& json) {
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
  std::vector<Histogram::Bucket> buckets;
  for (const auto& entry : *listed) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_number() || !entry[1].is_number_unsigned())
      return failure("an entry of \"buckets\" of a histogram must be [lower bound, whole number]");
    buckets.push_back({.lower = entry[0].get<double>(), .count = entry[1].get<std::uint64_t>()});
  }
  const auto sum = measure("sum");
  const auto least = measure("min");
  const auto greatest = measure("max");
  for (const auto* field : {&sum, &least, &greatest})
    if (!*field) return std::unexpected(field->error());
  auto result = Histogram::from_buckets(buckets, *sum, *least, *greatest);
  if (result && result->count() != count->get<std::uint64_t>())
    return failure("the \"buckets\" of a histogram hold {} measurements, \"count\" says {}", result->count(),
                   count->get<std::uint64_t>());
  return result;
}

}  // namespace millrace
