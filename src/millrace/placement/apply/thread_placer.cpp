#include "millrace/placement/apply/thread_placer.h"

#include "millrace/base/error/clock.h"
#include "millrace/placement/apply/main_placement.h"
#include "millrace/placement/apply/mask_changes.h"
#include "millrace/placement/policy/settling.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace millrace::placement {

using machine::CpuSet;

std::vector<ThreadPlan> plans_for(const std::vector<ProcessTree::Found>& threads, const Policy& policy,
                                  const MachineState& machine_state, std::int64_t now,
                                  const std::optional<ThreadView>& expected) {
  std::vector<LivingThread> all;
  all.reserve(threads.size() + 1);
  for (const auto& [process, thread] : threads)
    all.push_back(
        {.view = {thread->order, process->order, thread->main, thread->name, thread->wanted.mask},
         .alone = process->threads.size() == 1 && !(expected && expected->process == process->order),
         .last_birth_ns = process->last_birth_ns});
  if (expected) all.push_back({.view = *expected});
  return settled_plans(policy, machine_state, all, now);
}

std::size_t crowd_size(const MachineState& machine_state) {
  constexpr std::size_t least = 64;
  constexpr int for_each_cpu = 4;
  return std::max(least, static_cast<std::size_t>(for_each_cpu * machine_state.allowed.count()));
}

void ThreadPlacer::watch_load() {
  gauge_.emplace();
  std::ignore = look_at_load();
}

std::optional<std::vector<double>> ThreadPlacer::look_at_load() {
  const std::int64_t now = now_ns();
  if (!gauge_ || !gauge_->due(now)) return std::nullopt;
  std::vector<pid_t> processes;
  for (const auto& [number, process] : tree_->processes())
    processes.push_back(number);
  return gauge_->look(now, processes);
}

// The known load stays if there is no newer one.
void ThreadPlacer::read_load() {
  if (auto load = look_at_load()) machine_state_.load = std::move(*load);
}

void ThreadPlacer::set_machine_state(MachineState machine_state) {
  machine_state.by_unit = std::move(machine_state_.by_unit);
  if (machine_state.load.empty()) machine_state.load = std::move(machine_state_.load);
  if (tree_->program() && !tree_->program()->open.empty())
    machine_state.allowed = confined(given_at_start_, tree_->program()->open);
  machine_state_ = std::move(machine_state);
}

bool ThreadPlacer::set_by_unit(std::map<int, CpuSet> by_unit) {
  return std::exchange(machine_state_.by_unit, by_unit) != by_unit;
}

void ThreadPlacer::confine(const CpuSet& open_then, const CpuSet& open_now) {
  changer_.confine_given(open_then, open_now);
  if (tree_->program()->original.any_cpu) given_at_start_ = open_now;
  machine_state_.allowed = confined(given_at_start_, open_now);
}

std::vector<ProcessTree::Found> ThreadPlacer::threads_to_place() {
  auto threads = tree_->to_place();
  for (const auto& [process, thread] : threads)
    others_->notice_put_back(*thread);
  return threads;
}

bool ThreadPlacer::changes_anything(const Policy& policy) {
  const auto threads = threads_to_place();
  const std::vector<ThreadPlan> plans = plans_for(threads, policy, machine_state_, now_ns());
  for (std::size_t i = 0; i < threads.size(); ++i)
    if (is_change(threads[i].thread->state.original, plans[i])) return true;
  return false;
}

void ThreadPlacer::place_all() {
  tree_->plans_made();
  const auto threads = threads_to_place();
  const std::vector<ThreadPlan> plans = plans_for(threads, policy_, machine_state_, now_ns());
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const auto& [process, thread] = threads[i];
    if (thread->new_born ||
        thread->wanted != kept_in_place(*process, *thread, plans[i], policy_.traits(), now_ns()))
      give(*process, *thread, plans[i]);
  }
  if (!plans.empty()) newest_plan_ = plans.back();
}

void ThreadPlacer::place_newcomer(FollowedProcess& process, FollowedThread& thread) {
  if (policy_.traits().each_by_itself) {
    give(process, thread, plans_for({{&process, &thread}}, policy_, machine_state_, now_ns()).front());
  } else if (static_cast<std::size_t>(tree_->alive()) <= crowd_size(machine_state_)) {
    read_load();
    place_all();
  } else {
    tree_->await_plan();
    give(process, thread, {{}, newest_plan_.scheduling_class, newest_plan_.slice_ns});
  }
}

void ThreadPlacer::place_first_maker(FollowedProcess& process, FollowedThread& main) {
  if (!makes_its_first(process, main, policy_.traits())) return;
  read_load();
  const auto threads = threads_to_place();
  const ThreadView first{.number = tree_->births(), .process = process.order};
  const std::vector<ThreadPlan> plans = plans_for(threads, policy_, machine_state_, now_ns(), first);
  for (std::size_t i = 0; i < threads.size(); ++i)
    if (threads[i].thread == &main) {
      main.in_place_ns.reset();
      give(process, main, plans[i]);
      main.in_place_ns = now_ns();
    }
}

void ThreadPlacer::give(FollowedProcess& process, FollowedThread& thread, const ThreadPlan& wanted) {
  others_->notice_put_back(thread);
  if (thread.starting) return;
  const ThreadPlan plan = kept_in_place(process, thread, wanted, policy_.traits(), now_ns());
  thread.new_born = false;
  thread.wanted = plan;
  if (!plan.mask.empty() && plan.mask != thread.state.original.mask && on_mask_)
    on_mask_(plan.mask, thread.state.original.mask);
  SpawningThreads* const spawning = others_->spawning();
  if (spawning != nullptr && !spawning->hold(thread.state.number)) {
    thread.new_born = true;
    return;
  }
  if (changer_.give(thread.state, plan)) {
    thread.state.open = process.open;
    thread.state.open_changed = false;
    if (spawning != nullptr) spawning->take_out(thread.state.number);
    return;
  }
  if (spawning != nullptr) spawning->let_go(thread.state.number);
  if (others_->is_managed(process, thread))
    others_->leave_alone(process, thread);
  else
    thread.new_born = true;  // it has begun to start a program meanwhile
}

}  // namespace millrace::placement
