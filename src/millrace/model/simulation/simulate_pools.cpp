#include "millrace/model/simulation/simulated_run.h"

#include <algorithm>
#include <deque>

namespace millrace::model {
namespace {

enum class ThreadState { starved, working, blocked };

struct SimulatedThread {
  std::size_t pool;
  ThreadState state = ThreadState::starved;
  double since = 0;           // since when it has been starved or blocked
  double cpu_after_wait = 0;  // work left after the device has answered
  std::vector<int> results;   // of the current service; while blocked, the remaining ones
  std::size_t handed_on = 0;  // how many of the results have left
};

struct SimulatedPool {
  Pool pool;
  bool ordered = false;
  std::deque<int> queue;            // waiting items; unused if ordered
  std::deque<std::size_t> idle;     // threads without work, the longest waiting first
  std::deque<std::size_t> blocked;  // threads of other pools that wait for room in the queue
};

class PoolsSimulation {
 public:
  PoolsSimulation(const Pipeline& pipeline, const PoolsSetting& setting, const SimulationOptions& options)
      : setting_(setting), run_(pipeline,
                                setting.sharing == CoreSharing::sticky ? Processors(setting.cores, 1)
                                                                       : Processors(1, setting.cores),
                                options, setting.pools.size()) {
    for (const Pool& pool : setting.pools) {
      pools_.push_back({.pool = pool,
                        .ordered = pool.first_stage > 0 &&
                                   pipeline.stages[static_cast<std::size_t>(pool.first_stage)].kind ==
                                       StageKind::ordered});
      for (int i = 0; i < pool.threads; ++i)
        threads_.push_back({.pool = pools_.size() - 1});
    }
  }

  Result<SimulationResult> simulate() {
    for (std::size_t t = 0; t < threads_.size(); ++t) {
      pools_[threads_[t].pool].idle.push_back(t);
      threads_[t].since = 0;
    }
    wake(0);
    while (const auto job = run_.processors.next_done()) {
      finished(static_cast<std::size_t>(*job));
      if (run_.overfull(expected_)) return run_.overfull_error();
      if (run_.is_stopped()) return SimulatedRun::stopped_error();
    }
    for (SimulatedThread& thread : threads_)
      account(thread);
    return run_.finish();
  }

 private:
  // Lets one idle thread of the pool look for work, if there is any.
  void wake(std::size_t p) {
    SimulatedPool& pool = pools_[p];
    if (pool.idle.empty() || !has_work(p)) return;
    const std::size_t t = pool.idle.front();
    pool.idle.pop_front();
    account(threads_[t]);
    start(t);
  }

  [[nodiscard]] bool has_work(std::size_t p) const {
    const SimulatedPool& pool = pools_[p];
    if (p == 0) return !run_.source_is_dry() && (setting_.tokens == 0 || tokens_in_use_ < setting_.tokens);
    if (!pool.ordered) return !pool.queue.empty();
    const int item = run_.order.turn(pool.pool.first_stage);
    return item != ItemOrder::none && run_.order.waits_at(item) == pool.pool.first_stage;
  }

  // The free thread takes items and begins to work, or goes idle.
  void start(std::size_t t) {
    SimulatedThread& thread = threads_[t];
    const std::size_t p = thread.pool;
    SimulatedPool& pool = pools_[p];
    if (!has_work(p)) {
      become(thread, ThreadState::starved);
      pool.idle.push_back(t);
      return;
    }
    become(thread, ThreadState::working);
    thread.results.clear();
    thread.handed_on = 0;
    const int first = pool.pool.first_stage;
    std::vector<int> taken;
    if (p == 0) {
      taken.push_back(run_.make_item(take_token()));
    } else if (pool.ordered) {
      taken.push_back(run_.order.turn(first));
      run_.order.set_waits_at(taken.back(), ItemOrder::none);
      run_.order.pass(first);
    } else {
      const int batch = run_.stage(first).batch;
      while (static_cast<int>(taken.size()) < batch && !pool.queue.empty()) {
        taken.push_back(pool.queue.front());
        pool.queue.pop_front();
      }
    }
    work(t, taken);
    let_in(p);
  }

  // Takes the items through the pool's stages one by one, and starts the thread on the total time.
  void work(std::size_t t, const std::vector<int>& taken) {
    SimulatedThread& thread = threads_[t];
    const Pool& pool = pools_[thread.pool].pool;
    double cpu = 0;
    double waiting = 0;
    for (const int item : taken) {
      int parts = 1;
      for (int s = pool.first_stage; s <= pool.last_stage && parts > 0; ++s) {
        int next_parts = 0;
        for (int part = 0; part < parts; ++part) {
          if (!may_skip(thread.pool) && run_.bypasses(s, item)) {
            ++next_parts;
            continue;
          }
          (run_.stage(s).waits ? waiting : cpu) += run_.service(s, item);
          next_parts += run_.outputs(s, item);
        }
        parts = next_parts;
        if (run_.overfull(expected_ + static_cast<std::size_t>(parts))) break;
      }
      const std::size_t before = thread.results.size();
      note_parts(thread, item, parts);
      expected_ += thread.results.size() - before;
      if (run_.overfull(expected_)) break;  // and the simulation ends
    }
    thread.cpu_after_wait = waiting > 0 ? cpu : 0;
    const int job = static_cast<int>(t);
    if (waiting > 0)
      run_.processors.wait(job, waiting);
    else
      run_.processors.compute(job, core_of(t), cpu);
  }

  // The outputs are decided when the work begins, but parts are born and items dropped at its end. A part is
  // recorded as its item again, a dropped item as its complement.
  static void note_parts(SimulatedThread& thread, int item, int parts) {
    if (parts == 0) thread.results.push_back(~item);
    for (int part = 0; part < parts; ++part)
      thread.results.push_back(item);
  }

  void finished(std::size_t t) {
    SimulatedThread& thread = threads_[t];
    if (thread.cpu_after_wait > 0) {
      run_.processors.compute(static_cast<int>(t), core_of(t), thread.cpu_after_wait);
      thread.cpu_after_wait = 0;
      return;
    }
    expected_ -= thread.results.size();
    std::vector<int> results;
    int previous = ItemOrder::none;
    int newest = ItemOrder::none;
    for (const int noted : thread.results) {
      if (noted < 0) {
        const int token = run_.order.token(~noted);
        run_.remove(~noted, false);
        release(token);
        continue;
      }
      newest = noted == previous ? run_.split_off(newest) : noted;
      if (noted == previous) ++parts_of_token_[static_cast<std::size_t>(run_.order.token(noted))];
      previous = noted;
      results.push_back(newest);
    }
    thread.results = std::move(results);
    hand_on(t);
    wake_ordered();
  }

  // Passes the results on until a queue is full. Then the thread takes the next item or is blocked.
  void hand_on(std::size_t t) {
    SimulatedThread& thread = threads_[t];
    while (thread.handed_on < thread.results.size()) {
      const int item = thread.results[thread.handed_on];
      std::size_t target = thread.pool + 1;
      // The destination was already drawn when the queue was full.
      const int kept = run_.order.waits_at(item);
      if (kept <= -2) {
        target = static_cast<std::size_t>(-2 - kept);
      } else {
        while (target < pools_.size() && may_skip(target) &&
               run_.bypasses(pools_[target].pool.first_stage, item))
          ++target;
      }
      if (target < pools_.size() && !has_room(target)) {
        run_.order.set_waits_at(item, -2 - static_cast<int>(target));
        become(thread, ThreadState::blocked);
        pools_[target].blocked.push_back(t);
        return;
      }
      ++thread.handed_on;
      enter(item, target);
    }
    start(t);
  }

  // Whether items that bypass the pool's stage skip the pool. At an ordered stage they must keep their turn,
  // and in collapsed stages each stage is bypassed separately.
  [[nodiscard]] bool may_skip(std::size_t p) const {
    return !pools_[p].ordered && pools_[p].pool.first_stage == pools_[p].pool.last_stage;
  }

  [[nodiscard]] bool has_room(std::size_t p) const {
    const SimulatedPool& pool = pools_[p];
    return pool.ordered || !pool.idle.empty() || static_cast<int>(pool.queue.size()) < setting_.queue;
  }

  void enter(int item, std::size_t target) {
    if (target == pools_.size()) {
      const int token = run_.order.token(item);
      run_.remove(item, true);
      release(token);
      return;
    }
    SimulatedPool& pool = pools_[target];
    if (pool.ordered) {
      run_.order.set_waits_at(item, pool.pool.first_stage);
    } else {
      run_.order.set_waits_at(item, ItemOrder::none);
      pool.queue.push_back(item);
    }
    wake(target);
  }

  // Admits threads that wait for room in front of the pool.
  void let_in(std::size_t p) {
    SimulatedPool& pool = pools_[p];
    while (!pool.blocked.empty() && has_room(p)) {
      const std::size_t t = pool.blocked.front();
      pool.blocked.pop_front();
      account(threads_[t]);
      hand_on(t);
    }
  }

  // If an item left, was split or was dropped, another item may now have its turn.
  void wake_ordered() {
    for (std::size_t p = 0; p < pools_.size(); ++p) {
      if (pools_[p].ordered) wake(p);
    }
  }

  int take_token() {
    ++tokens_in_use_;
    if (free_tokens_.empty()) {
      parts_of_token_.push_back(1);
      return static_cast<int>(parts_of_token_.size()) - 1;
    }
    const int token = free_tokens_.back();
    free_tokens_.pop_back();
    parts_of_token_[static_cast<std::size_t>(token)] = 1;
    return token;
  }

  void release(int token) {
    if (--parts_of_token_[static_cast<std::size_t>(token)] > 0) return;
    free_tokens_.push_back(token);
    --tokens_in_use_;
    wake(0);
  }

  void become(SimulatedThread& thread, ThreadState state) {
    thread.state = state;
    thread.since = run_.processors.now_seconds();
  }
  // Records how long the thread was starved or blocked.
  void account(SimulatedThread& thread) {
    PoolTotals& totals = run_.result.pools[thread.pool];
    const double time = run_.processors.now_seconds() - thread.since;
    if (thread.state == ThreadState::starved) totals.starved_seconds += time;
    if (thread.state == ThreadState::blocked) totals.blocked_seconds += time;
    thread.since = run_.processors.now_seconds();
  }

  [[nodiscard]] int core_of(std::size_t thread) const {
    return setting_.sharing == CoreSharing::sticky ? static_cast<int>(thread) % setting_.cores : 0;
  }

  const PoolsSetting& setting_;
  SimulatedRun run_;
  std::vector<SimulatedPool> pools_;
  std::vector<SimulatedThread> threads_;
  std::vector<int> parts_of_token_;  // live items by token
  std::vector<int> free_tokens_;
  int tokens_in_use_ = 0;
  std::size_t expected_ = 0;  // results of the current services
};

Status check_setting(const Pipeline& pipeline, const PoolsSetting& setting) {
  if (setting.cores < 1 || setting.cores > 65536)
    return usage_error("{} cores; give 1 to 65536", setting.cores);
  if (setting.queue < 1) return usage_error("a queue of {} items; give at least 1", setting.queue);
  if (setting.tokens < 0) return usage_error("{} tokens; give at least 1, or 0 for no limit", setting.tokens);
  int next = 0;
  for (const Pool& pool : setting.pools) {
    if (pool.first_stage != next || pool.last_stage < pool.first_stage ||
        pool.last_stage >= static_cast<int>(pipeline.stages.size())) {
      return usage_error("a pool of stages {} to {}; pools must cover the stages one after another",
                         pool.first_stage, pool.last_stage);
    }
    next = pool.last_stage + 1;
    if (pool.threads < 1 || pool.threads > 65536)
      return usage_error("a pool of {} threads; give 1 to 65536", pool.threads);
    for (int s = pool.first_stage; s <= pool.last_stage; ++s) {
      const Stage& stage = pipeline.stages[static_cast<std::size_t>(s)];
      if (!stage.is_parallel() && (pool.threads != 1 || pool.first_stage != pool.last_stage))
        return usage_error("stage '{}' is {}; give it a pool of its own with one thread", stage.name,
                           to_string(stage.kind));
    }
  }
  if (next != static_cast<int>(pipeline.stages.size()))
    return usage_error("no pool for stage '{}'", pipeline.stages[static_cast<std::size_t>(next)].name);
  return {};
}

}  // namespace

Result<SimulationResult> simulate_pools(const Pipeline& pipeline, const PoolsSetting& setting,
                                        const SimulationOptions& options) {
  if (const Status possible = check_simulation(pipeline, options); !possible)
    return std::unexpected(possible.error());
  if (const Status fits = check_setting(pipeline, setting); !fits) return std::unexpected(fits.error());
  return PoolsSimulation(pipeline, setting, options).simulate();
}

}  // namespace millrace::model
