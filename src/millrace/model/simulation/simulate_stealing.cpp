#include "millrace/model/simulation/simulated_run.h"

#include <deque>

namespace millrace::model {
namespace {

// An item and its next stage. The source makes its item when the task starts.
struct Task {
  int item = ItemOrder::none;
  int stage = 0;
};

struct Worker {
  Task current;
  std::deque<Task> ready;  // the owner takes from the back, thieves from the front
  std::size_t place = 0;   // index in the list of workers with ready tasks
  double idle_since = 0;
};

struct SerialStage {
  bool occupied = false;
  std::deque<int> waiting;  // for unordered stages; ordered ones use the item order
};

class StealingSimulation {
 public:
  StealingSimulation(const Pipeline& pipeline, const StealingSetting& setting,
                     const SimulationOptions& options)
      : run_(pipeline,
             setting.cores == 0 || setting.cores >= setting.threads ? Processors(setting.threads, 1)
                                                                    : Processors(1, setting.cores),
             options, 1),
        shared_(setting.cores > 0 && setting.cores < setting.threads), free_tokens_(setting.tokens),
        workers_(static_cast<std::size_t>(setting.threads)), serial_(pipeline.stages.size()) {
    for (int token = setting.tokens; token-- > 0;)
      unused_tokens_.push_back(token);
    parts_of_token_.resize(static_cast<std::size_t>(setting.tokens));
    passes_by_.resize(workers_.size());
  }

  Result<SimulationResult> simulate() {
    for (std::size_t w = workers_.size(); w-- > 1;)
      idle_.push_back(w);
    source_pending_ = true;
    run_task(0, {});
    while (const auto job = run_.processors.next_done()) {
      finished(static_cast<std::size_t>(*job));
      if (run_.overfull()) return run_.overfull_error();
      if (run_.is_stopped()) return SimulatedRun::stopped_error();
    }
    for (const std::size_t w : idle_)
      run_.result.pools[0].starved_seconds += run_.processors.now_seconds() - workers_[w].idle_since;
    return run_.finish();
  }

 private:
  // The free worker runs the task until it has to wait, then finds another.
  void run_task(std::size_t w, Task task) {
    if (!begin(w, task)) find_work(w);
  }

  // Begins a service for the task. False: the item waits for its turn at a serial stage, or has left.
  bool begin(std::size_t w, Task task) {
    if (task.item == ItemOrder::none) {
      source_pending_ = false;
      serial_[0].occupied = true;
      --free_tokens_;
      const int token = unused_tokens_.back();
      unused_tokens_.pop_back();
      parts_of_token_[static_cast<std::size_t>(token)] = 1;
      task.item = run_.make_item(token);
      serve(w, task);
      return true;
    }
    for (; task.stage < run_.stages(); ++task.stage) {
      const Stage& stage = run_.stage(task.stage);
      if (stage.is_parallel()) {
        if (run_.bypasses(task.stage, task.item)) continue;
        serve(w, task);
        return true;
      }
      if (stage.kind == StageKind::serial && run_.bypasses(task.stage, task.item)) continue;
      if (!enter_serial(task)) return false;
      serve(w, task);
      return true;
    }
    const int token = run_.order.token(task.item);
    run_.remove(task.item, true);
    release(w, token);
    return false;
  }

  // Whether the item may enter now. Otherwise it waits there.
  bool enter_serial(Task task) {
    SerialStage& serial = serial_[static_cast<std::size_t>(task.stage)];
    const bool ordered = run_.stage(task.stage).kind == StageKind::ordered;
    if (serial.occupied || (ordered && run_.order.turn(task.stage) != task.item)) {
      if (ordered)
        run_.order.set_waits_at(task.item, task.stage);
      else
        serial.waiting.push_back(task.item);
      return false;
    }
    serial.occupied = true;
    if (ordered) run_.order.pass(task.stage);
    return true;
  }

  void serve(std::size_t w, Task task) {
    workers_[w].current = task;
    const Stage& stage = run_.stage(task.stage);
    // An ordered stage lets bypassing items through itself, because they must keep their turn.
    const bool passed_by =
        stage.kind == StageKind::ordered && task.stage > 0 && run_.bypasses(task.stage, task.item);
    passes_by_[w] = passed_by;
    const double seconds = passed_by ? 0 : run_.service(task.stage, task.item);
    if (stage.waits)
      run_.processors.wait(static_cast<int>(w), seconds);
    else
      run_.processors.compute(static_cast<int>(w), shared_ ? 0 : static_cast<int>(w), seconds);
  }

  void finished(std::size_t w) {
    const Task done = workers_[w].current;
    const int parts = passes_by_[w] ? 1 : run_.outputs(done.stage, done.item);
    const int token = run_.order.token(done.item);
    std::vector<int> others;
    for (int newest = done.item, part = 1; part < parts; ++part) {
      newest = run_.split_off(newest);
      others.push_back(newest);
      ++parts_of_token_[static_cast<std::size_t>(token)];
    }
    if (parts == 0) run_.remove(done.item, false);
    if (!run_.stage(done.stage).is_parallel()) leave_serial(w, done.stage);
    admit_in_turn();
    for (std::size_t i = others.size(); i-- > 0;)
      spawn(w, {others[i], done.stage + 1});
    const bool goes_on = parts > 0 && admitted_.empty();
    if (parts > 0 && !goes_on) {
      const Task next{done.item, done.stage + 1};
      if (next.stage < run_.stages())
        spawn(w, next);
      else
        begin(w, next);  // leaves at once
    }
    // Tasks whose turn has come go before this item's own next stage, and thieves take the oldest. So no
    // serial stage is idle while an item waits for it.
    for (; !admitted_.empty(); admitted_.pop_back())
      spawn(w, admitted_.back(), true);
    if (parts == 0) release(w, token);
    if (goes_on)
      run_task(w, {done.item, done.stage + 1});
    else
      find_work(w);
  }

  void leave_serial(std::size_t w, int stage) {
    SerialStage& serial = serial_[static_cast<std::size_t>(stage)];
    serial.occupied = false;
    if (stage == 0) {
      offer_source(w);
    } else if (!serial.waiting.empty()) {
      admit(serial.waiting.front(), stage);
      serial.waiting.pop_front();
    }
  }

  // Admits items whose turn has come at a free ordered stage, after the previous item passed, was dropped or
  // bypassed it.
  void admit_in_turn() {
    for (int stage = 1; stage < run_.stages(); ++stage) {
      if (run_.stage(stage).kind != StageKind::ordered || serial_[static_cast<std::size_t>(stage)].occupied)
        continue;
      const int item = run_.order.turn(stage);
      if (item == ItemOrder::none || run_.order.waits_at(item) != stage) continue;
      run_.order.set_waits_at(item, ItemOrder::none);
      run_.order.pass(stage);
      admit(item, stage);
    }
  }

  // The waiting item now holds the serial stage. A ready task will serve it.
  void admit(int item, int stage) {
    serial_[static_cast<std::size_t>(stage)].occupied = true;
    admitted_.push_back({item, stage});
  }

  // If the source can make an item, one task for it becomes ready.
  void offer_source(std::size_t w) {
    if (source_pending_ || serial_[0].occupied || free_tokens_ == 0 || run_.source_is_dry()) return;
    source_pending_ = true;
    spawn(w, {});
  }

  void release(std::size_t w, int token) {
    if (--parts_of_token_[static_cast<std::size_t>(token)] > 0) return;
    unused_tokens_.push_back(token);
    ++free_tokens_;
    offer_source(w);
  }

  // A task becomes ready at the worker. An idle worker steals it at once.
  void spawn(std::size_t w, Task task, bool admitted = false) {
    if (!idle_.empty()) {
      const std::size_t thief = idle_.back();
      idle_.pop_back();
      run_.result.pools[0].starved_seconds += run_.processors.now_seconds() - workers_[thief].idle_since;
      take(thief, task, admitted);
      return;
    }
    Worker& worker = workers_[w];
    if (worker.ready.empty()) {
      worker.place = loaded_.size();
      loaded_.push_back(w);
    }
    // Admitted tasks are marked by the complement of their stage.
    worker.ready.push_back({task.item, admitted ? ~task.stage : task.stage});
  }

  void take(std::size_t w, Task task, bool admitted) {
    if (admitted)
      serve(w, task);
    else
      run_task(w, task);
  }

  void find_work(std::size_t w) {
    if (loaded_.empty()) {
      workers_[w].idle_since = run_.processors.now_seconds();
      idle_.push_back(w);
      return;
    }
    const bool own = !workers_[w].ready.empty();
    const std::size_t victim = own ? w : loaded_[run_.random.below(loaded_.size())];
    auto& ready = workers_[victim].ready;
    const Task task = own ? ready.back() : ready.front();
    if (own)
      ready.pop_back();
    else
      ready.pop_front();
    if (ready.empty()) unload(victim);
    const bool admitted = task.stage < 0;
    take(w, {task.item, admitted ? ~task.stage : task.stage}, admitted);
  }

  void unload(std::size_t w) {
    const std::size_t place = workers_[w].place;
    loaded_[place] = loaded_.back();
    workers_[loaded_[place]].place = place;
    loaded_.pop_back();
  }

  SimulatedRun run_;
  const bool shared_;  // by more threads than there are cores
  int free_tokens_;
  std::vector<int> unused_tokens_;
  std::vector<int> parts_of_token_;
  std::vector<Worker> workers_;
  std::vector<SerialStage> serial_;
  std::vector<Task> admitted_;       // admitted by the task that just finished, not yet ready
  std::vector<bool> passes_by_;      // by worker: its item bypasses the ordered stage that it holds
  std::vector<std::size_t> idle_;    // the last to go idle is woken first
  std::vector<std::size_t> loaded_;  // workers with ready tasks
  bool source_pending_ = false;      // the source's task is ready or taken
};

}  // namespace

Result<SimulationResult> simulate_stealing(const Pipeline& pipeline, const StealingSetting& setting,
                                           const SimulationOptions& options) {
  if (const Status possible = check_simulation(pipeline, options); !possible)
    return std::unexpected(possible.error());
  if (setting.threads < 1 || setting.threads > 65536)
    return usage_error("{} threads; give 1 to 65536", setting.threads);
  if (setting.cores < 0 || setting.cores > 65536)
    return usage_error("{} cores; give 1 to 65536, or 0 for one a thread", setting.cores);
  if (setting.tokens < 1 || setting.tokens > 10'000'000)
    return usage_error("{} tokens; give 1 to 10000000", setting.tokens);
  return StealingSimulation(pipeline, setting, options).simulate();
}

}  // namespace millrace::model
