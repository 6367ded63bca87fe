#include "millrace/model/formulas/birth_death.h"
#include "millrace/model/formulas/closed_network.h"
#include "millrace/model/formulas/exact_natural_testing.h"
#include "millrace/model/formulas/paper_models.h"
#include "millrace/model/formulas/queues.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::model {
namespace {

// base^exponent
ExactNatural power(std::uint32_t base, int exponent) {
  ExactNatural result = 1;
  for (int i = 0; i < exponent; ++i)
    result = result * base;
  return result;
}

std::uint32_t whole(int value) { return static_cast<std::uint32_t>(value); }

struct FiniteQueue {
  int servers;
  int capacity;
  int population;
  int request_rate;  // rates in quarters per second, which a double represents exactly
  int service_rate;
};

class FinitePopulationQueue : public testing::TestWithParam<FiniteQueue> {};

// The weights of the states, multiplied by all rates of departure, are whole numbers.
TEST_P(FinitePopulationQueue, AgreesWithExactArithmetic) {
  const FiniteQueue q = GetParam();
  const auto size = static_cast<std::size_t>(q.capacity);
  std::vector<ExactNatural> weights(size + 1, 1);
  for (int n = 1; n <= q.capacity; ++n)
    weights[static_cast<std::size_t>(n)] =
        weights[static_cast<std::size_t>(n - 1)] * whole((q.population - n + 1) * q.request_rate);
  ExactNatural departures = 1;
  for (int n = q.capacity; n >= 0; --n) {
    auto& weight = weights[static_cast<std::size_t>(n)];
    weight = weight * departures;
    if (n > 0) departures = departures * whole(std::min(n, q.servers) * q.service_rate);
  }
  ExactNatural sum;
  ExactNatural busy;
  ExactNatural inside;
  for (int n = 0; n <= q.capacity; ++n) {
    const auto& weight = weights[static_cast<std::size_t>(n)];
    sum += weight;
    busy += weight * whole(std::min(n, q.servers));
    inside += weight * whole(n);
  }
  const QueueMetrics found = finite_population_queue(q.servers, q.capacity, q.population,
                                                     q.request_rate / 4.0, q.service_rate / 4.0);
  EXPECT_NEAR(found.throughput / (ratio(busy, sum) * q.service_rate / 4), 1, 1e-13);
  EXPECT_NEAR(found.mean_in_system / ratio(inside, sum), 1, 1e-13);
  EXPECT_NEAR(found.utilisation, ratio(busy, sum) / q.servers, 1e-13);
}

INSTANTIATE_TEST_SUITE_P(Sizes, FinitePopulationQueue,
                         testing::Values(FiniteQueue{1, 1, 1, 1, 1}, FiniteQueue{1, 5, 5, 4, 4},
                                         FiniteQueue{4, 20, 20, 1, 3}, FiniteQueue{4, 40, 40, 7, 1},
                                         FiniteQueue{12, 20, 20, 4, 4}, FiniteQueue{3, 10, 50, 1, 9},
                                         FiniteQueue{64, 300, 300, 5, 3}, FiniteQueue{200, 400, 1000, 1, 4}));

TEST(FinitePopulationQueue, StaysFiniteForThousandsOfServersAndCustomers) {
  const QueueMetrics found = finite_population_queue(16, 2000, 2000, 1, 1);
  EXPECT_NEAR(found.throughput, 16, 1e-12);
  // A server for each customer: each is inside half of the time.
  EXPECT_NEAR(finite_population_queue(5000, 5000, 5000, 1, 1).mean_in_system, 2500, 1e-8);
}

TEST(FinitePopulationQueue, OfALargePopulationIsTheOpenQueue) {
  const int population = 2'000'000;
  const QueueMetrics closed = finite_population_queue(3, 400, population, 2.0 / population, 1);
  const QueueMetrics open = open_queue(3, 2, 1);
  EXPECT_NEAR(closed.throughput, 2, 1e-4);
  EXPECT_NEAR(closed.mean_in_system, open.mean_in_system, 1e-3);
}

// B = a^n / n! over the sum of a^k / k!, multiplied by n!.
TEST(ErlangLoss, AgreesWithExactArithmetic) {
  for (const int servers : {1, 2, 7, 40, 300}) {
    for (const int load : {1, 5, 40, 250}) {
      if (8 * load < servers) continue;  // too small for a double
      ExactNatural factor = 1;           // servers! / k!
      ExactNatural sum;
      for (int k = servers; k >= 0; --k) {
        sum += power(whole(load), k) * factor;
        factor = factor * whole(std::max(k, 1));
      }
      EXPECT_NEAR(erlang_loss(servers, load) / ratio(power(whole(load), servers), sum), 1, 1e-12)
          << servers << " " << load;
    }
  }
}

// 1/B = a * integral of exp(-a t) (1 + t)^n, computed by Simpson's rule for comparison.
TEST(ErlangLoss, OfFractionsOfServersIsTheIntegral) {
  for (const double servers : {0.001, 0.25, 0.5, 0.99, 1.5, 3.7}) {
    for (const double load : {0.05, 0.4, 1.0, 1.9, 2.6, 10.0}) {
      const int steps = 400'000;
      const double end = 45 / load;
      const double h = end / steps;
      double sum = 0;
      for (int i = 0; i <= steps; ++i) {
        const double t = i * h;
        const double weight = i == 0 || i == steps ? 1 : i % 2 == 1 ? 4 : 2;
        sum += weight * std::exp(-load * t) * std::pow(1 + t, servers);
      }
      EXPECT_NEAR(erlang_loss(servers, load) * (load * sum * h / 3), 1, 1e-9) << servers << " " << load;
    }
  }
}

TEST(ErlangLoss, FallsWithServers) {
  for (int i = 0; i < 400; ++i)
    EXPECT_LT(erlang_loss((i + 1) / 20.0, 3), erlang_loss(i / 20.0, 3));
}

TEST(OpenQueue, OfOneServerHasTheClosedForm) {
  for (const double load : {0.1, 0.5, 0.9, 0.99}) {
    EXPECT_NEAR(erlang_delay(1, load), load, 1e-14);
    EXPECT_NEAR(open_queue(1, load, 1).mean_in_system, load / (1 - load), 1e-10);
  }
  EXPECT_TRUE(std::isinf(open_queue(2, 3, 1).mean_in_system));
  EXPECT_EQ(open_queue(2, 3, 1).throughput, 2);
}

// f(k) = D^k / (min(1, c) ... min(k, c)), multiplied by that product up to the number of tokens.
TEST(ClosedNetwork, AgreesWithExactArithmetic) {
  // Demands in hundredths, servers.
  const std::vector<std::pair<int, int>> stations{{2, 1}, {20, 2}, {30, 2}, {60, 4}, {400, 16}, {1, 1}};
  for (const int tokens : {1, 2, 7, 27, 64, 128}) {
    const auto size = static_cast<std::size_t>(tokens) + 1;
    std::vector<ExactNatural> g(size);
    g[0] = 1;
    std::vector<NetworkStation> given;
    given.reserve(stations.size());
    for (const auto& [demand, servers] : stations) {
      given.push_back({.demand_seconds = demand / 100.0, .servers = static_cast<double>(servers)});
      std::vector<ExactNatural> f(size);
      ExactNatural factor = 1;
      for (int k = tokens; k >= 0; --k) {
        f[static_cast<std::size_t>(k)] = power(whole(demand), k) * factor;
        factor = factor * whole(std::max(1, std::min(k, servers)));
      }
      std::vector<ExactNatural> next(size);
      for (std::size_t n = 0; n < size; ++n) {
        for (std::size_t k = 0; k <= n; ++k)
          next[n] += f[k] * g[n - k];
      }
      g = next;
    }
    const double exact = 100 * ratio(g[size - 2], g[size - 1]);
    EXPECT_NEAR(network_throughput(given, tokens) / exact, 1, 1e-13) << tokens;
  }
}

TEST(ClosedNetwork, OfBalancedSingleServersHasTheClosedForm) {
  for (const int stations : {1, 2, 4, 9}) {
    for (const int tokens : {1, 4, 32, 1000}) {
      const std::vector<NetworkStation> network(static_cast<std::size_t>(stations), {.demand_seconds = 0.5});
      EXPECT_NEAR(network_throughput(network, tokens), 2.0 * tokens / (tokens + stations - 1), 1e-10);
    }
  }
}

TEST(ClosedNetwork, WithThousandsOfServersAndTokensApproachesTheBound) {
  const std::vector<NetworkStation> network{{.demand_seconds = 1e-4}, {.demand_seconds = 1, .servers = 4096}};
  const double found = network_throughput(network, 9000);
  EXPECT_LE(found, 4096 * (1 + 1e-12));
  EXPECT_GT(found, 4095);
}

TEST(ClosedNetwork, NeverExceedsTheAsymptoticBoundAndGrowsWithTokens) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<NetworkStation> network(static_cast<std::size_t>(1 + trial % 6));
    for (NetworkStation& station : network) {
      station = {.demand_seconds = uniform(random),
                 .servers = std::floor(1 + 20 * uniform(random)),
                 .slowdown = 0.02 * uniform(random),
                 .busy_elsewhere = 8 * uniform(random)};
    }
    double previous = 0;
    for (int tokens = 1; tokens <= 60; ++tokens) {
      const double found = network_throughput(network, tokens);
      EXPECT_GE(found, previous * (1 - 1e-12));
      EXPECT_LE(found, asymptotic_throughput(network, tokens) * (1 + 1e-12));
      previous = found;
    }
  }
}

TEST(PaperModels, ClosedPipelineWithoutQueueLimitsIsTheSlowestStage) {
  const std::vector<paper::Station> stations{{0.55, 1, true}, {2, 2, false}, {6, 4, false}};
  EXPECT_NEAR(paper::closed_throughput(stations, 2000), 4 / 6.0, 1e-9);
  EXPECT_NEAR(paper::open_throughput(stations), 4 / 6.0, 1e-12);
  EXPECT_NEAR(paper::closed_upper_bound(stations), 4 / 6.0, 1e-12);
  EXPECT_NEAR(paper::run_seconds(1000, 4 / 6.0), 1500, 1e-9);
}

TEST(PaperModels, StealingOfOneThreadIsItsLocalQueue) {
  // M/M/1/5/5 with equal rates: p_0 = 1/326.
  const auto steps = paper::stealing({.seconds = 2, .threads = 1, .tokens_per_thread = 5});
  EXPECT_NEAR(steps.local, 325.0 / 326 / 2, 1e-15);
  EXPECT_EQ(steps.idle_elsewhere, 0);
  EXPECT_EQ(steps.stolen, 0);
  EXPECT_NEAR(steps.total, steps.local, 1e-15);
}

TEST(PaperModels, StealingGainsAndNeverExceedsThreadsOrSerialStages) {
  for (int threads = 1; threads <= 128; threads *= 2) {
    for (int tokens = 1; tokens <= 10; ++tokens) {
      const auto steps = paper::stealing({.seconds = 1,
                                          .slowest_serial = 0.05,
                                          .threads = threads,
                                          .tokens_per_thread = static_cast<double>(tokens)});
      EXPECT_GE(steps.with_stealing, steps.local);
      EXPECT_LE(steps.stolen, steps.idle_elsewhere + 1e-12);
      EXPECT_LE(steps.total, std::min(20.0, static_cast<double>(threads)));
    }
  }
}

TEST(PaperModels, SizesAreTheSmallestThatReachTheBound) {
  const std::vector<paper::Station> stations{{0.55, 1, true}, {6.2, 64, false}};
  const int queue = paper::optimal_queue(stations);
  const double enough = paper::reaches * paper::closed_upper_bound(stations);
  EXPECT_GE(paper::closed_throughput(stations, queue), enough);
  EXPECT_LT(paper::closed_throughput(stations, queue - 1), enough);
}

}  // namespace
}  // namespace millrace::model
