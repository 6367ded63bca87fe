#include "millrace/model/pipeline/plan.h"

#include <algorithm>
#include <numeric>

namespace millrace::model {
namespace {

// One pool per stage; with `collapse`, one per run of adjacent parallel stages.
std::vector<Pool> pools_of(const Pipeline& pipeline, bool collapse) {
  std::vector<Pool> pools;
  for (int s = 0; s < static_cast<int>(pipeline.stages.size()); ++s) {
    const bool parallel = pipeline.stages[static_cast<std::size_t>(s)].is_parallel();
    if (collapse && parallel && !pools.empty() &&
        pipeline.stages[static_cast<std::size_t>(pools.back().last_stage)].is_parallel()) {
      pools.back().last_stage = s;
    } else {
      pools.push_back({.first_stage = s, .last_stage = s});
    }
  }
  return pools;
}

struct Share {
  std::size_t pool;
  double demand;
};

// Assigns threads one by one to the pool with the greatest demand per thread, up to `threads` in total. This
// makes the slowest pool as fast as possible with that many threads.
void divide_by_demand(const Pipeline& pipeline, std::vector<Pool>& pools, int threads) {
  const auto demand = demands(pipeline);
  std::vector<Share> parallel;
  for (std::size_t p = 0; p < pools.size(); ++p) {
    if (!pipeline.stages[static_cast<std::size_t>(pools[p].first_stage)].is_parallel()) continue;
    parallel.push_back({p, std::accumulate(demand.begin() + pools[p].first_stage,
                                           demand.begin() + pools[p].last_stage + 1, 0.0)});
  }
  if (parallel.empty()) return;
  for (int given = static_cast<int>(pools.size()); given < threads; ++given) {
    const auto neediest = std::ranges::max_element(
        parallel, {}, [&](const Share& share) { return share.demand / pools[share.pool].threads; });
    ++pools[neediest->pool].threads;
  }
}

}  // namespace

std::string_view to_string(Strategy strategy) {
  switch (strategy) {
  case Strategy::pools:
    return "pools";
  case Strategy::oversubscribed:
    return "oversubscribed";
  case Strategy::collapsed:
    return "collapsed";
  case Strategy::stealing:
    return "stealing";
  }
  return "";
}

std::optional<Strategy> strategy_of(std::string_view name) {
  const auto found = std::ranges::find(all_strategies, name, [](Strategy s) { return to_string(s); });
  if (found == all_strategies.end()) return std::nullopt;
  return *found;
}

int Plan::usable_cores() const {
  return strategy == Strategy::stealing && workers > 0 ? std::min(workers, cores) : cores;
}

int Plan::threads() const {
  if (strategy == Strategy::stealing) return workers > 0 ? workers : cores;
  return std::accumulate(pools.begin(), pools.end(), 0,
                         [](int sum, const Pool& pool) { return sum + pool.threads; });
}

Plan make_plan(const Pipeline& pipeline, Strategy strategy, int cores, int queue, int tokens) {
  Plan plan{.strategy = strategy, .cores = cores, .queue = queue, .tokens = tokens};
  if (strategy == Strategy::stealing) return plan;
  plan.pools = pools_of(pipeline, strategy == Strategy::collapsed);
  if (strategy == Strategy::pools) {
    divide_by_demand(pipeline, plan.pools, cores);
  } else {
    for (Pool& pool : plan.pools) {
      if (pipeline.stages[static_cast<std::size_t>(pool.first_stage)].is_parallel()) pool.threads = cores;
    }
  }
  return plan;
}

Plan make_runtime_plan(const Pipeline& pipeline, Strategy strategy, int threads, int cores, int queue,
                       int tokens) {
  Plan plan{.strategy = strategy, .cores = cores, .queue = queue, .tokens = tokens};
  if (strategy == Strategy::stealing) {
    plan.workers = threads;
    return plan;
  }
  const auto computes_in_parallel = [&](int stage) {
    const Stage& one = pipeline.stages[static_cast<std::size_t>(stage)];
    return one.is_parallel() && !one.waits;
  };
  std::vector<std::size_t> free;  // the pools whose thread count is to be chosen
  for (int s = 0; s < static_cast<int>(pipeline.stages.size()); ++s) {
    if (strategy == Strategy::collapsed && s > 0 && computes_in_parallel(s) && computes_in_parallel(s - 1)) {
      plan.pools.back().last_stage = s;
      continue;
    }
    if (computes_in_parallel(s)) free.push_back(plan.pools.size());
    plan.pools.push_back({.first_stage = s, .last_stage = s});
  }
  const auto parts = static_cast<int>(free.size());
  for (int part = 0; part < parts; ++part) {
    const int share = threads / parts + (part < threads % parts ? 1 : 0);
    plan.pools[free[static_cast<std::size_t>(part)]].threads =
        strategy == Strategy::oversubscribed ? threads : std::max(1, share);
  }
  return plan;
}

}  // namespace millrace::model
