// A pipeline as a closed network of queues, with a fixed number of circulating tokens and a station for each
// stage or pool. Exact for exponential service times and unbounded queues (Gordon and Newell 1967), by
// convolution (Buzen 1973) with rates that depend on the number of busy servers.
#pragma once

#include <functional>
#include <vector>

namespace millrace::model {

struct NetworkStation {
  double demand_seconds = 0;  // work for one round of a token, >= 0
  double servers = 1;         // > 0, may be fractional: k tokens are served at a rate of min(k, servers)
  double slowdown = 0;        // for every further busy core, as Stage::slowdown
  double busy_elsewhere = 0;  // average number of cores busy at other stations, for the slowdown
};

// Demand processed per second by a station with k tokens, k >= 1.
[[nodiscard]] double service_rate(const NetworkStation& station, double tokens);

// Rounds per second of `tokens` >= 0 tokens. Stations without demand take no time. All terms are positive and
// scaled by the slowest station and by every station's mode. So the result is exact up to rounding for any
// number of tokens and servers, while load-dependent mean value analysis loses all digits. O(stations *
// tokens^2). At least one station must have a demand. Asks `stops` for every station; once it is true, the
// result is meaningless.
[[nodiscard]] double network_throughput(const std::vector<NetworkStation>& stations, int tokens,
                                        const std::function<bool()>& stops = {});

// An upper bound for all distributions of service times (asymptotic bounds, Muntz and Wong 1974): either the
// slowest station is always busy, or the tokens never wait.
[[nodiscard]] double asymptotic_throughput(const std::vector<NetworkStation>& stations, int tokens);

}  // namespace millrace::model
