#include "millrace/model/formulas/queues.h"

#include "millrace/model/formulas/birth_death.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace millrace::model {
namespace {

// exp(a) a^-s Gamma(s, a) for 1 <= s < 2, a > 0: by the power series if a is small, otherwise by the
// continued fraction (Abramowitz and Stegun 6.5.29 and 6.5.31), evaluated with Lentz's method.
double scaled_upper_gamma(double s, double a) {
  constexpr double precision = 1e-16;
  if (a < s + 1) {
    double term = 1 / s;
    double sum = term;
    for (int n = 1; term > sum * precision; ++n) {
      term *= a / (s + n);
      sum += term;
    }
    return std::exp(a) * std::pow(a, -s) * std::tgamma(s) - sum;
  }
  double b = a + 1 - s;
  double c = 1 / std::numeric_limits<double>::min();
  double d = 1 / b;
  double fraction = d;
  for (int i = 1; i < 10'000; ++i) {
    const double an = -i * (i - s);
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    const double factor = c * d;
    fraction *= factor;
    if (std::abs(factor - 1) < precision * 4) break;
  }
  return fraction;
}

}  // namespace

QueueMetrics finite_population_queue(double servers, int capacity, int population, double request_rate,
                                     double service_rate) {
  QueueMetrics result;
  if (servers <= 0 || capacity < 1) return result;
  std::vector<double> ratios(static_cast<std::size_t>(capacity));
  for (int n = 1; n <= capacity; ++n) {
    ratios[static_cast<std::size_t>(n - 1)] =
        (population - n + 1) * request_rate / (std::min<double>(n, servers) * service_rate);
  }
  const std::vector<double> p = stationary_probabilities(ratios);
  double busy = 0;
  for (int n = 1; n <= capacity; ++n) {
    busy += std::min<double>(n, servers) * p[static_cast<std::size_t>(n)];
    result.mean_in_system += n * p[static_cast<std::size_t>(n)];
  }
  result.throughput = busy * service_rate;
  result.utilisation = busy / servers;
  return result;
}

double erlang_loss(double servers, double offered_load) {
  const double whole = std::floor(servers);
  const double fraction = servers - whole;
  double loss = fraction == 0 ? 1 : 1 / (offered_load * scaled_upper_gamma(fraction + 1, offered_load));
  for (int n = 1; n <= static_cast<int>(whole); ++n)
    loss = offered_load * loss / (fraction + n + offered_load * loss);
  return loss;
}

double erlang_delay(int servers, double offered_load) {
  if (offered_load >= servers) return 1;
  const double loss = erlang_loss(servers, offered_load);
  return loss / (1 - offered_load / servers * (1 - loss));
}

QueueMetrics open_queue(int servers, double arrival_rate, double service_rate) {
  const double load = arrival_rate / service_rate;
  QueueMetrics result{.throughput = std::min(arrival_rate, servers * service_rate),
                      .utilisation = std::min(1.0, load / servers),
                      .mean_in_system = std::numeric_limits<double>::infinity()};
  if (load < servers) result.mean_in_system = load + erlang_delay(servers, load) * load / (servers - load);
  return result;
}

}  // namespace millrace::model
