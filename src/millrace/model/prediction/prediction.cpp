#include "millrace/model/prediction/prediction.h"

#include "millrace/model/formulas/closed_network.h"
#include "millrace/model/simulation/simulation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <ranges>

#include <fmt/format.h>

namespace millrace::model {
namespace {

// More tokens do not change the result of any formula.
constexpr int most_tokens = 4000;

struct Network {
  std::vector<NetworkStation> stations;
  std::vector<std::string> names;  // of the stations, for Prediction::limit
  int tokens = 1;
};

// Coefficient of variation of the total work of an item, assuming independent stages.
double mean_variation(const Pipeline& pipeline) {
  const auto demand = demands(pipeline);
  double weighted = 0;
  double total = 0;
  for (std::size_t i = 0; i < demand.size(); ++i) {
    weighted += demand[i] * pipeline.stages[i].service.cv();
    total += demand[i];
  }
  return weighted / total;
}

// Demand-weighted slowdown of stages first..last.
double mean_slowdown(const Pipeline& pipeline, const std::vector<double>& demand, int first, int last) {
  double weighted = 0;
  double total = 0;
  for (int s = first; s <= last; ++s) {
    const auto i = static_cast<std::size_t>(s);
    weighted += demand[i] * pipeline.stages[i].slowdown;
    total += demand[i];
  }
  return total > 0 ? weighted / total : 0;
}

std::string stage_names(const Pipeline& pipeline, int first, int last) {
  const auto name = [&](int s) { return pipeline.stages[static_cast<std::size_t>(s)].name; };
  return first == last ? fmt::format("stage {}", name(first))
                       : fmt::format("stages {} to {}", name(first), name(last));
}

// One station per pool.
Network network_of_pools(const Pipeline& pipeline, const Plan& plan) {
  const auto demand = demands(pipeline);
  Network network;
  std::int64_t room = 0;
  for (const Pool& pool : plan.pools) {
    const double work =
        std::accumulate(demand.begin() + pool.first_stage, demand.begin() + pool.last_stage + 1, 0.0);
    const Stage& first = pipeline.stages[static_cast<std::size_t>(pool.first_stage)];
    const int servers = first.waits ? pool.threads : std::min(pool.threads, plan.usable_cores());
    network.stations.push_back(
        {.demand_seconds = work,
         .servers = static_cast<double>(servers),
         .slowdown = mean_slowdown(pipeline, demand, pool.first_stage, pool.last_stage)});
    network.names.push_back(stage_names(pipeline, pool.first_stage, pool.last_stage));
    room += pool.threads + (pool.first_stage > 0 ? plan.queue : 0);
  }
  network.tokens = static_cast<int>(std::min<std::int64_t>(room, most_tokens));
  if (plan.tokens > 0) network.tokens = std::min(network.tokens, plan.tokens);
  return network;
}

// One station with all threads for the parallel stages, and one for each serial stage.
Network network_of_stealing(const Pipeline& pipeline, const Plan& plan) {
  const auto demand = demands(pipeline);
  Network network{.tokens = std::min(plan.tokens, most_tokens)};
  NetworkStation pooled{.servers = static_cast<double>(plan.usable_cores())};
  double slowed = 0;
  for (std::size_t i = 0; i < demand.size(); ++i) {
    if (pipeline.stages[i].is_parallel()) {
      pooled.demand_seconds += demand[i];
      slowed += demand[i] * pipeline.stages[i].slowdown;
    } else {
      network.stations.push_back({.demand_seconds = demand[i], .slowdown = pipeline.stages[i].slowdown});
      network.names.push_back(stage_names(pipeline, static_cast<int>(i), static_cast<int>(i)));
    }
  }
  if (pooled.demand_seconds > 0) {
    pooled.slowdown = slowed / pooled.demand_seconds;
    network.stations.push_back(pooled);
    network.names.emplace_back("cores");
  }
  return network;
}

// Core time of one item, slowed down by `busy_cores` busy cores.
double core_seconds(const Pipeline& pipeline, double busy_cores) {
  const auto demand = demands(pipeline);
  double sum = 0;
  for (std::size_t i = 0; i < demand.size(); ++i) {
    if (!pipeline.stages[i].waits) sum += demand[i] * pipeline.stages[i].slowdown_factor(busy_cores);
  }
  return sum;
}

using Throughput = std::function<double(const std::vector<NetworkStation>&, int)>;

// Throughput of a network whose stations slow each other down and share the cores. The capacity left to each
// station depends on the throughput, so it is found by fixed-point iteration with half steps.
double settled_throughput(const Pipeline& pipeline, const Plan& plan, Network network,
                          const Throughput& formula) {
  double rate = 0;
  for (int round = 0; round < 12; ++round) {
    const double previous = rate;
    const double busy = std::min<double>(plan.usable_cores(), previous * core_seconds(pipeline, 1));
    for (NetworkStation& station : network.stations) {
      const double own = std::min(station.servers, previous * station.demand_seconds);
      station.busy_elsewhere = std::max(0.0, busy - own);
    }
    // The station of all threads comes last, without the threads in serial stages.
    if (plan.strategy == Strategy::stealing && network.names.back() == "cores") {
      double in_serial = 0;
      for (std::size_t i = 0; i + 1 < network.stations.size(); ++i)
        in_serial += previous * network.stations[i].demand_seconds;
      network.stations.back().servers = std::max(plan.usable_cores() - in_serial, 0.05 * plan.usable_cores());
    }
    rate = formula(network.stations, network.tokens);
    const double work =
        core_seconds(pipeline, std::min<double>(plan.usable_cores(), rate * core_seconds(pipeline, 1)));
    if (work > 0) rate = std::min(rate, plan.usable_cores() / work);
    // Stealing threads also wait for devices.
    if (plan.strategy == Strategy::stealing)
      rate = std::min(rate, plan.usable_cores() / total_demand(pipeline));
    if (round > 0) rate = (rate + previous) / 2;
    if (std::abs(rate - previous) <= 1e-6 * rate) break;
  }
  return rate;
}

std::string limit_of(const Pipeline& pipeline, const Plan& plan, const Network& network, double rate) {
  std::string limit;
  double greatest = 0;
  for (std::size_t i = 0; i < network.stations.size(); ++i) {
    const double used = rate * network.stations[i].demand_seconds / network.stations[i].servers;
    if (used > greatest) {
      greatest = used;
      limit = network.names[i];
    }
  }
  const double busy = std::min<double>(plan.usable_cores(), rate * core_seconds(pipeline, 1));
  const double cores_used = rate * core_seconds(pipeline, busy) / plan.usable_cores();
  if (cores_used >= greatest) {
    greatest = cores_used;
    limit = "cores";
  }
  if (greatest < 0.8) limit = plan.tokens > 0 ? "tokens" : "queue";
  return limit;
}

}  // namespace

Prediction predict(const Pipeline& pipeline, const Plan& plan, std::int64_t items,
                   const std::function<bool()>& stops) {
  const Network network = plan.strategy == Strategy::stealing ? network_of_stealing(pipeline, plan)
                                                              : network_of_pools(pipeline, plan);
  const double fastest = settled_throughput(pipeline, plan, network, asymptotic_throughput);
  const auto by_queues = [&stops](const std::vector<NetworkStation>& stations, int tokens) {
    return network_throughput(stations, tokens, stops);
  };
  const double slowest = std::min(fastest, settled_throughput(pipeline, plan, network, by_queues));
  const double variation = mean_variation(pipeline);
  const double weight = std::min(1.0, variation * variation);
  const double rate = weight * slowest + (1 - weight) * fastest;
  const auto n = static_cast<double>(items);
  return {.low_seconds = n / fastest,
          .point_seconds = n / rate,
          .high_seconds = n / slowest,
          .limit = limit_of(pipeline, plan, network, rate)};
}

Result<Prediction> predict_by_simulation(const Pipeline& pipeline, const Plan& plan, std::int64_t items,
                                         std::int64_t simulated, int runs, std::uint64_t seed,
                                         const std::function<bool()>& stops) {
  if (runs < 2 || runs > 1000) return usage_error("{} runs to simulate; give 2 to 1000", runs);
  constexpr double most_calls = 4e6;
  const double affordable = most_calls / calls_per_item(pipeline);
  if (affordable < 1)
    return usage_error(
        "one item of the source becomes {:.3g} calls of the stages, too many to simulate; predict by "
        "formulas alone, or give smaller outputs",
        calls_per_item(pipeline));
  const std::int64_t each =
      std::min({items, simulated, static_cast<std::int64_t>(std::min(affordable, 1e18))});
  double sum = 0;
  double squares = 0;
  for (int run = 0; run < runs; ++run) {
    const auto result = simulate(
        pipeline, plan, {.items = each, .seed = seed + static_cast<std::uint64_t>(run), .stops = stops});
    if (!result) return std::unexpected(result.error());
    // The remaining items pass in the steady state.
    const double seconds =
        result->seconds + static_cast<double>(items - each) / result->steady_items_per_second;
    sum += seconds;
    squares += seconds * seconds;
  }
  const double mean = sum / runs;
  const double spread = 2 * std::sqrt(std::max(0.0, (squares - sum * mean) / (runs - 1)));
  return Prediction{.low_seconds = std::max(0.0, mean - spread),
                    .point_seconds = mean,
                    .high_seconds = mean + spread,
                    .limit = predict(pipeline, plan, items, stops).limit};
}

namespace {

// The fraction of the unlimited throughput that counts as sufficient.
constexpr double sufficient = 0.99;

// The smallest sufficient value from `low` to `high`. All values above it are sufficient too, and so is
// `high`.
template <class Enough> int smallest(int low, int high, const Enough& enough) {
  const auto values = std::views::iota(low, high);
  return low + static_cast<int>(std::ranges::partition_point(values, std::not_fn(enough)) - values.begin());
}

double formula_item_seconds(const Pipeline& pipeline, int threads, int tokens,
                            const std::function<bool()>& stops) {
  return predict(pipeline, make_plan(pipeline, Strategy::stealing, threads, 1, tokens), 1, stops)
      .point_seconds;
}

// Either the threads or the slowest serial stage are always busy.
double busy_item_seconds(const Pipeline& pipeline, int threads) {
  const auto demand = demands(pipeline);
  double work = 0;
  double serial = 0;
  for (std::size_t i = 0; i < demand.size(); ++i) {
    const double seconds = demand[i] * pipeline.stages[i].slowdown_factor(threads);
    work += seconds;
    if (!pipeline.stages[i].is_parallel()) serial = std::max(serial, seconds);
  }
  return std::max(work / threads, serial);
}

}  // namespace

double item_seconds(const Pipeline& pipeline, const OrderedTail& tail, const Plan& plan) {
  const double by_formulas = predict(pipeline, plan, 1).point_seconds;
  if (plan.tokens == 0) return by_formulas;
  const int threads = plan.usable_cores();
  return std::max(by_formulas, busy_item_seconds(pipeline, threads) * tail.slowdown(threads, plan.tokens));
}

int sufficient_tokens(const Pipeline& pipeline, const OrderedTail& tail, int threads,
                      const std::function<bool()>& stops) {
  const int most = 10 * threads + 20;
  const double busy = busy_item_seconds(pipeline, threads);
  const double enough = std::max(formula_item_seconds(pipeline, threads, most, stops), busy) / sufficient;
  const int by_formulas = smallest(
      1, most, [&](int tokens) { return formula_item_seconds(pipeline, threads, tokens, stops) <= enough; });
  return tail.sufficient_tokens(threads, enough / busy, by_formulas, stops);
}

int sufficient_tokens(const Pipeline& pipeline, int threads, const std::function<bool()>& stops) {
  const int items = std::max(8192, 64 * threads);
  return sufficient_tokens(pipeline, OrderedTail(pipeline, items, stops), threads, stops);
}

int sufficient_queue(const Pipeline& pipeline, Strategy strategy, int cores,
                     const std::function<bool()>& stops) {
  constexpr int most = 200;
  const auto seconds = [&](int queue) {
    return predict(pipeline, make_plan(pipeline, strategy, cores, queue, 0), 1, stops).point_seconds;
  };
  const double enough = seconds(most) / sufficient;
  return smallest(1, most, [&](int queue) { return seconds(queue) <= enough; });
}

}  // namespace millrace::model
