// Single queues with exponential times: M/M/c/N/K, M/M/c, M/M/n/n. Rates in events per second, all > 0.
// Numerically stable for thousands of servers and customers.
#pragma once

namespace millrace::model {

struct QueueMetrics {
  double throughput = 0;      // customers served per second
  double utilisation = 0;     // of each server, 0..1
  double mean_in_system = 0;  // waiting and in service
};

// M/M/c/N/K: `servers` (>= 0, need not be whole: n customers are served at min(n, servers) * service_rate),
// room for `capacity` customers, a population of `population` >= capacity, each of whom, while outside, asks
// for service at request_rate (Allen 1990, section 5.2; research notes of the project, 5.1). The throughput
// is that of equation 3 of Navarro et al. 2009 ("the paper" from here on): sum over n of (K - n) p_n
// request_rate.
[[nodiscard]] QueueMetrics finite_population_queue(double servers, int capacity, int population,
                                                   double request_rate, double service_rate);

// Erlang's loss formula B(n, a): the share of customers turned away by n >= 0 servers without waiting room
// under an offered load of a > 0. n need not be whole: 1/B = a * integral over t >= 0 of exp(-a t) (1 + t)^n
// (Jagerman 1974), by the incomplete gamma function for the fraction, upwards by the usual recursion.
[[nodiscard]] double erlang_loss(double servers, double offered_load);

// Erlang's delay formula C(c, a) of M/M/c: the share of customers who have to wait; 1 where a >= c.
[[nodiscard]] double erlang_delay(int servers, double offered_load);

// M/M/c with room without end; where the arrivals exceed what the servers can do, throughput is what they can
// do, and the number in the system infinite.
[[nodiscard]] QueueMetrics open_queue(int servers, double arrival_rate, double service_rate);

}  // namespace millrace::model
