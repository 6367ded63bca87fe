#include "millrace/model/formulas/closed_network.h"

#include "millrace/model/formulas/birth_death.h"

#include <algorithm>
#include <limits>

namespace millrace::model {

double service_rate(const NetworkStation& station, double tokens) {
  const double busy = std::min(tokens, station.servers);
  return busy / (1 + station.slowdown * std::max(0.0, busy + station.busy_elsewhere - 1));
}

double network_throughput(const std::vector<NetworkStation>& stations, int tokens,
                          const std::function<bool()>& stops) {
  if (tokens < 1) return 0;
  double slowest = 0;
  for (const NetworkStation& station : stations)
    slowest = std::max(slowest, station.demand_seconds / service_rate(station, tokens));
  const auto size = static_cast<std::size_t>(tokens) + 1;
  std::vector<double> g(size, 0.0);
  g[0] = 1;
  std::vector<double> next(size);
  for (const NetworkStation& station : stations) {
    if (station.demand_seconds <= 0) continue;
    if (stops && stops()) return 1;
    std::vector<double> ratios(size - 1);
    for (std::size_t k = 1; k < size; ++k)
      ratios[k - 1] = station.demand_seconds / (slowest * service_rate(station, static_cast<double>(k)));
    const std::vector<double> f = weights_from_mode(ratios);
    for (std::size_t n = 0; n < size; ++n) {
      double sum = 0;
      for (std::size_t k = 0; k <= n; ++k)
        sum += f[k] * g[n - k];
      next[n] = sum;
    }
    // A common factor cancels in the end.
    const double largest = std::ranges::max(next);
    for (std::size_t n = 0; n < size; ++n)
      g[n] = next[n] / largest;
  }
  return g[size - 2] / g[size - 1] / slowest;
}

double asymptotic_throughput(const std::vector<NetworkStation>& stations, int tokens) {
  if (tokens < 1) return 0;
  double bound = std::numeric_limits<double>::infinity();
  double round = 0;
  for (const NetworkStation& station : stations) {
    if (station.demand_seconds <= 0) continue;
    bound = std::min(bound, service_rate(station, station.servers) / station.demand_seconds);
    round += station.demand_seconds / service_rate(station, std::min(1.0, station.servers));
  }
  return std::min(bound, tokens / round);
}

}  // namespace millrace::model
