#include "millrace/report/study/mean_interval.h"

#include "millrace/base/numbers/student_t.h"
#include "millrace/placement/trials/paired_gain.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace millrace::report {
namespace {

// A ratio's interval beyond this factor is meaningless.
constexpr double most_told = 10;

}  // namespace

MeanInterval mean_interval(std::span<const double> values) {
  if (values.empty()) return {};
  const auto count = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values)
    mean += value / count;
  if (values.size() == 1) return {mean, mean, mean, false};
  double squares = 0;
  for (const double value : values)
    squares += (value - mean) * (value - mean);
  const double error = std::sqrt(squares / (count - 1) / count);
  const double reach = student_t(static_cast<int>(values.size()) - 1, Confidence::p95) * error;
  if (reach > mean) return {mean, 0, 2 * mean, false};
  return {mean, mean - reach, mean + reach};
}

MeanInterval ratio_interval(std::span<const double> dividends, std::span<const double> divisors) {
  std::vector<double> logs;
  for (std::size_t i = 0; i < std::min(dividends.size(), divisors.size()); ++i)
    logs.push_back(std::log(dividends[i] / divisors[i]));
  if (logs.size() < 2) {
    const double ratio = logs.empty() ? 1 : std::exp(logs.front());
    return {ratio, ratio, ratio, false};
  }
  const placement::GainEstimate gain = placement::estimate_gain(logs, Confidence::p95);
  const double mean = std::exp(gain.mean);
  if (!(gain.high - gain.mean <= std::log(most_told)))
    return {mean, mean / most_told, mean * most_told, false};
  return {mean, std::exp(gain.low), std::exp(gain.high)};
}

}  // namespace millrace::report
