// A pipeline as a closed network of queues: so many tokens go round, a station for each stage or pool. Exact
// for exponential service times and queues without bound (Gordon and Newell 1967), by convolution (Buzen
// 1973) with rates that depend on how many servers are busy.
#pragma once

#include <vector>

namespace millrace::model {

struct NetworkStation {
  double demand_seconds = 0;  // of work for one token's round, >= 0
  double servers = 1;         // > 0, need not be whole: k tokens are served at a rate of min(k, servers)
  double slowdown = 0;        // of a service for every further busy core, as Stage::slowdown
  double busy_elsewhere = 0;  // cores busy at other stations, on average, for the slowdown
};

// How much of its demand a station with k tokens does per second, k >= 1.
[[nodiscard]] double service_rate(const NetworkStation& station, double tokens);

// Rounds per second of `tokens` >= 0 tokens; stations without demand are passed in no time. Positive terms
// only, scaled by the slowest station and by every station's mode, hence as exact as its rounding for any
// number of tokens and servers, where load-dependent mean value analysis loses all digits. O(stations *
// tokens^2). Requires that some station has a demand.
[[nodiscard]] double network_throughput(const std::vector<NetworkStation>& stations, int tokens);

// What no distribution of service times can exceed (asymptotic bounds, Muntz and Wong 1974): the slowest
// station at work all the time, or the tokens never waiting.
[[nodiscard]] double asymptotic_throughput(const std::vector<NetworkStation>& stations, int tokens);

}  // namespace millrace::model
