#include "millrace/tuning/estimate/expected_improvement.h"

#include <cmath>
#include <numbers>

namespace millrace::tuning {
namespace {

double density(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi); }
double distribution(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

}  // namespace

double expected_improvement(double mean, double deviation, double margin) {
  const double gain = -mean - margin;
  const double x = gain / deviation;
  if (x < -5) return 0;
  return gain * distribution(x) + deviation * density(x);
}

double expected_excess(double mean, double deviation) {
  const double x = mean / deviation;
  if (x < -5) return 0;
  return std::exp(mean + deviation * deviation / 2) * distribution(x + deviation) - distribution(x);
}

}  // namespace millrace::tuning
