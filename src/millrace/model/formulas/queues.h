// Single queues with exponential times: M/M/c/N/K, M/M/c, M/M/n/n. Rates are in events per second, all > 0.
// Numerically stable for thousands of servers and customers.
#pragma once

namespace millrace::model {

struct QueueMetrics {
  double throughput = 0;      // customers served per second
  double utilisation = 0;     // of each server, 0..1
  double mean_in_system = 0;  // waiting and in service
};

// M/M/c/N/K: `servers` (>= 0, may be fractional: n customers are served at min(n, servers) * service_rate),
// room for `capacity` customers, and a population of `population` >= capacity. Each customer outside requests
// service at request_rate (Allen 1990, section 5.2; research notes of the project, 5.1). The throughput
// follows equation 3 of Navarro et al. 2009 ("the paper" from here on): sum over n of (K - n) p_n
// request_rate.
[[nodiscard]] QueueMetrics finite_population_queue(double servers, int capacity, int population,
                                                   double request_rate, double service_rate);

// Erlang's loss formula B(n, a): the share of customers rejected by n >= 0 servers without a waiting room
// under an offered load of a > 0. n may be fractional: 1/B = a * integral over t >= 0 of exp(-a t) (1 + t)^n
// (Jagerman 1974), by the incomplete gamma function for the fraction, then upwards by the usual recursion.
[[nodiscard]] double erlang_loss(double servers, double offered_load);

// Erlang's delay formula C(c, a) of M/M/c: the share of customers that have to wait. 1 if a >= c.
[[nodiscard]] double erlang_delay(int servers, double offered_load);

// M/M/c with unlimited room. If arrivals exceed the capacity of the servers, the throughput is that capacity
// and the number in the system is infinite.
[[nodiscard]] QueueMetrics open_queue(int servers, double arrival_rate, double service_rate);

}  // namespace millrace::model
