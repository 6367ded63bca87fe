#include "millrace/tuning/space/objective.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace millrace::tuning {
namespace {

constexpr double comfortable_share = 0.8;
constexpr double lateness_weight = 10;

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

double Objective::log_cost(const Observation& observation, double resources) const {
  const double latency = observation.latency > 0 ? observation.latency : observation.seconds;
  switch (aim) {
  case Aim::throughput:
    return std::log(observation.seconds / observation.frames);
  case Aim::latency:
    return std::log(latency);
  case Aim::deadline:
    return std::log(resources) +
           lateness_weight * std::max(0.0, std::log(latency / (comfortable_share * deadline)));
  }
  return 0;
}

double Objective::summary(std::span<const double> ascending) const {
  const std::size_t n = ascending.size();
  if (aim == Aim::throughput) {
    const std::size_t cut = n > 2 ? std::max<std::size_t>(1, n / 4) : 0;
    return mean(ascending.subspan(cut, n - 2 * cut));
  }
  return mean(ascending.subspan(n / 2));
}

}  // namespace millrace::tuning
