#include "millrace/model/simulation/newborn_threads.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace millrace::model {
namespace {

constexpr double no_time = std::numeric_limits<double>::infinity();
constexpr double done_below_ms = 1e-9;  // rounding

struct ForkedTask {
  double left_ms = 0;
  int core = 0;
  bool may_move = false;      // idle cores may take it
  double until_bound_ms = 0;  // work left here before it moves to its own core
  int own_core = -1;          // its destination after that
  bool alive = true;
};

class ForkJoinPass {
 public:
  ForkJoinPass(const NewbornCase& newborns, double phase) : case_(newborns) {
    main_.core = newborns.main_apart ? newborns.cores - 1 : 0;
    main_.left_ms = newborns.work.serial_ms;
    for (int core = 0; core < newborns.cores; ++core) {
      const double offset = phase + static_cast<double>(core) / newborns.cores;
      next_balancing_.push_back(newborns.balancing_ms * (1 - (offset - std::floor(offset))));
    }
  }

  double run() {
    while (true) {
      begin_what_is_due();
      if (!main_.alive && std::ranges::none_of(threads_, &ForkedTask::alive)) return now_ms_;
      advance(std::min(until_work_ends(), until_balancing()));
    }
  }

 private:
  template <class Function> void for_each_alive(const Function& function) {
    if (main_.alive) function(main_);
    for (ForkedTask& task : threads_)
      if (task.alive) function(task);
  }

  [[nodiscard]] int load_of(int core) const {
    const auto here = [core](const ForkedTask& task) { return task.alive && task.core == core; };
    return static_cast<int>(std::ranges::count_if(threads_, here)) + (here(main_) ? 1 : 0);
  }

  [[nodiscard]] bool balances() const {
    return case_.placement == NewbornPlacement::left_with_maker ||
           case_.placement == NewbornPlacement::on_idle_core;
  }

  // Ends completed work and begins what depends on it, until nothing more ends at this moment.
  void begin_what_is_due() {
    for (bool ended = true; ended;) {
      ended = false;
      if (main_.alive && main_.left_ms <= done_below_ms) {
        ended = true;
        end_stage_of_main();
      }
      for (ForkedTask& task : threads_) {
        if (!task.alive) continue;
        if (task.own_core >= 0 && task.until_bound_ms <= done_below_ms) {
          task.core = task.own_core;
          task.own_core = -1;
          task.left_ms += case_.migration_ms;
        }
        if (task.left_ms > done_below_ms) continue;
        ended = true;
        task.alive = false;
        if (balances() && load_of(task.core) == 0) take_one(task.core);
      }
    }
  }

  void end_stage_of_main() {
    const std::size_t count = case_.work.thread_ms.size();
    if (making_) bear();
    making_ = threads_.size() < count;
    main_.left_ms = making_ ? case_.work.birth_ms : 0;
    if (making_) return;
    main_.alive = false;
    if (balances() && load_of(main_.core) == 0) take_one(main_.core);
  }

  void bear() {
    ForkedTask task{.left_ms = case_.work.thread_ms[threads_.size()], .core = main_.core};
    const int own = static_cast<int>(threads_.size()) % case_.cores;
    switch (case_.placement) {
    case NewbornPlacement::left_with_maker:
      task.may_move = true;
      break;
    case NewbornPlacement::on_idle_core: {
      task.may_move = true;
      for (int core = 0; core < case_.cores; ++core)
        if (load_of(core) < load_of(task.core)) task.core = core;
      break;
    }
    case NewbornPlacement::bound_by_itself:
      task.until_bound_ms = std::min(case_.first_call_ms, task.left_ms);
      if (own != task.core) task.own_core = own;
      break;
    case NewbornPlacement::bound_at_birth:
      task.core = own;
      break;
    }
    threads_.push_back(task);
  }

  // The idle core takes a thread from the busiest core, which keeps its running thread: the first one.
  void take_one(int idle) {
    int busiest = idle;
    for (int core = 0; core < case_.cores; ++core)
      if (load_of(core) > load_of(busiest)) busiest = core;
    if (load_of(busiest) < 2) return;
    for (auto task = threads_.rbegin(); task != threads_.rend(); ++task)
      if (task->alive && task->may_move && task->core == busiest) {
        task->core = idle;
        task->left_ms += case_.migration_ms;
        return;
      }
  }

  [[nodiscard]] double until_work_ends() {
    double soonest = no_time;
    for_each_alive([&](const ForkedTask& task) {
      const double left = task.own_core >= 0 ? std::min(task.left_ms, task.until_bound_ms) : task.left_ms;
      soonest = std::min(soonest, left * load_of(task.core));
    });
    return soonest;
  }

  [[nodiscard]] double until_balancing() const {
    return balances() ? *std::ranges::min_element(next_balancing_) - now_ms_ : no_time;
  }

  void advance(double passed_ms) {
    passed_ms = std::max(passed_ms, 0.0);
    std::vector<int> loads;
    for (int core = 0; core < case_.cores; ++core)
      loads.push_back(load_of(core));
    for_each_alive([&](ForkedTask& task) {
      const double work = passed_ms / loads[static_cast<std::size_t>(task.core)];
      task.left_ms -= work;
      if (task.own_core >= 0) task.until_bound_ms -= work;
    });
    now_ms_ += passed_ms;
    if (!balances()) return;
    for (int core = 0; core < case_.cores; ++core) {
      double& next = next_balancing_[static_cast<std::size_t>(core)];
      if (next > now_ms_ + done_below_ms) continue;
      next += case_.balancing_ms;
      if (load_of(core) == 0) take_one(core);
    }
  }

  const NewbornCase& case_;
  ForkedTask main_;
  bool making_ = false;
  std::vector<ForkedTask> threads_;
  std::vector<double> next_balancing_;
  double now_ms_ = 0;
};

}  // namespace

double simulate_pass_ms(const NewbornCase& newborns, double phase) {
  return ForkJoinPass(newborns, phase).run();
}

double simulate_mean_pass_ms(const NewbornCase& newborns) {
  constexpr int phases = 32;
  double sum = 0;
  for (int i = 0; i < phases; ++i)
    sum += simulate_pass_ms(newborns, (i + 0.5) / phases);
  return sum / phases;
}

}  // namespace millrace::model
