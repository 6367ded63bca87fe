#include "millrace/placement/apply/thread_register.h"

#include "millrace/base/error/clock.h"
#include "millrace/machine/limits/open_cpus.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;

constexpr int observations_between_checks = 10;
constexpr int migrations_read_at_once = 2;

}  // namespace

ThreadRegister::ThreadRegister(MachineState machine_state, Policy policy, Journal& journal)
    : machine_state_(std::move(machine_state)), policy_(std::move(policy)), journal_(&journal),
      changer_(journal), given_at_start_(machine_state_.allowed),
      open_to_([](pid_t process) { return machine::open_cpus(process); }), whole_mask_(machine::whole_mask) {}

std::pair<ThreadRegister::Process*, ThreadRegister::Thread*> ThreadRegister::find(pid_t thread) {
  const auto owner = owner_.find(thread);
  if (owner == owner_.end()) return {nullptr, nullptr};
  Process& process = processes_.at(owner->second);
  return {&process, &process.threads.at(thread)};
}

void ThreadRegister::lay_ready(const std::vector<CpuSet>& masks) {
  const std::scoped_lock lock(mutex_);
  for (const CpuSet& mask : masks) {
    if (mask.empty()) continue;
    changer_.note(journal_->add_mask(mask));
    note_ready(mask);
  }
}

// Threads may take the mask themselves.
void ThreadRegister::note_ready(const CpuSet& mask) {
  changer_.note_given({.mask = mask}, {.mask = machine_state_.allowed});
  if (on_mask_) on_mask_(mask, machine_state_.allowed);
}

CpuSet ThreadRegister::lay_main_ready() {
  const std::scoped_lock lock(mutex_);
  if (restored_ || !policy_.traits().main_at_first_birth || !changer_.counts().not_journalled.empty())
    return {};
  // A thread that manages its own class would be left with a mask that is not recorded.
  for (const auto& [number, process] : processes_)
    if (process.left_alone.contains(number)) return {};
  read_load();
  CpuSet mask = main_mask_in_advance(policy_, machine_state_, laid_main_);
  if (mask.empty() || mask == machine_state_.allowed) return {};
  if (laid_for_main_.insert(mask.to_string()).second) {
    changer_.note(journal_->add_mask(mask));
    if (!changer_.counts().not_journalled.empty()) return {};
    note_ready(mask);
  }
  laid_main_ = mask;
  return mask;
}

void ThreadRegister::on_mask(std::function<void(const CpuSet&, const CpuSet&)> told) {
  const std::scoped_lock lock(mutex_);
  on_mask_ = std::move(told);
}

void ThreadRegister::watch_spawning(SpawningThreads& spawning) {
  const std::scoped_lock lock(mutex_);
  spawning_ = &spawning;
}

void ThreadRegister::ask_chosen(std::function<bool(const CpuSet&)> asked) {
  const std::scoped_lock lock(mutex_);
  is_chosen_ = std::move(asked);
}

void ThreadRegister::watch_load() {
  const std::scoped_lock lock(mutex_);
  gauge_.emplace();
  std::ignore = look_at_load();
}

void ThreadRegister::ask_open(std::function<CpuSet(pid_t)> asked, KernelMasks kernel) {
  const std::scoped_lock lock(mutex_);
  open_to_ = std::move(asked);
  kernel_masks_ = kernel;
}

void ThreadRegister::ask_whole_mask(std::function<CpuSet(pid_t)> asked) {
  const std::scoped_lock lock(mutex_);
  whole_mask_ = std::move(asked);
}

CpuSet ThreadRegister::allowed() const {
  const std::scoped_lock lock(mutex_);
  return machine_state_.allowed;
}

// A thread without a mask of its own originally had all CPUs that were open to it.
void ThreadRegister::note_open(Process& process, const CpuSet& open) {
  if (open.empty() || open == process.open) return;
  const CpuSet then = std::exchange(process.open, open);
  if (process.original.any_cpu) process.original.mask = open;
  for (auto& [number, thread] : process.threads) {
    thread.state.open_changed = true;
    if (thread.state.original.any_cpu) thread.state.original.mask = open;
  }
  if (then.empty() || then != program_open_) return;
  // The program's first process, or one that is confined like it.
  program_open_ = open;
  changer_.confine_given(then, open);
  if (program_original_ && program_original_->any_cpu) program_original_->mask = given_at_start_ = open;
  machine_state_.allowed = confined(given_at_start_, open);
  to_be_planned_ = true;
}

// If the open CPUs changed for one process, they may have for all. Returns whether they did.
bool ThreadRegister::find_open() {
  if (processes_.empty()) return false;
  const auto& [number, first] = *processes_.begin();
  const CpuSet open = open_to_(number);
  if (open.empty() || open == first.open) return false;
  for (auto& [id, process] : processes_)
    note_open(process, id == number ? open : open_to_(id));
  return true;
}

// True if the kernel changed the thread's mask to `now` because other CPUs are open to it. If so, it records
// that and schedules a new plan for the thread. While CPUs are just going offline or coming online it only
// schedules another look.
bool ThreadRegister::changed_by_kernel(Process& process, Thread& thread, const Original& now) {
  ChangedThread& state = thread.state;
  if (process.open.empty() || attributes_of(now) != attributes_of(state.last)) return false;
  const auto changer = [&](const CpuSet& whole) {
    const bool own = state.last.mask == state.original.mask || state.last.mask == state.open;
    MaskHistory history{.asked = state.asked,
                        .had = state.last.mask,
                        .open_then = state.open,
                        .seen = now.mask,
                        .open_now = process.open,
                        .open_changed = state.open_changed,
                        .whole = whole};
    if (history.asked.empty())
      history.asked = own && state.original.any_cpu ? machine::every_cpu() : state.last.mask;
    return who_changed(history, kernel_masks_);
  };
  // The open CPUs and the whole mask are read only on demand.
  if (changer({}) != MaskChanger::kernel) {
    note_open(process, open_to_(process.id.number));
    const MaskChanger found = changer(whole_mask_(thread.state.number));
    if (found == MaskChanger::not_known_yet) {
      thread.new_born = true;
      to_be_planned_ = true;
      return true;
    }
    if (found != MaskChanger::kernel) return now.mask == process.open && forgotten_by_kernel(process);
  }
  take_kernels(process, thread, now.mask);
  return true;
}

void ThreadRegister::take_kernels(const Process& process, Thread& thread, const CpuSet& mask) {
  thread.state.last.mask = mask;
  thread.state.open = process.open;
  thread.state.open_changed = false;
  thread.state.confined = true;
  thread.new_born = true;
  to_be_planned_ = true;
}

// Before Linux 6.2, each change of a cpuset makes the kernel forget the masks of all its threads, even if the
// change has been undone by now. A program hardly gives all CPUs to several threads between two looks.
bool ThreadRegister::forgotten_by_kernel(Process& process) {
  if (kernel_masks_ != KernelMasks::forgets) return false;
  std::vector<Thread*> changed;
  for (auto& [id, thread] : process.threads) {
    const auto now = read_original(id);
    if (!now || process.left_alone.contains(id)) continue;
    if (now->mask != process.open || attributes_of(*now) != attributes_of(thread.state.last)) return false;
    if (thread.state.last.mask != now->mask) changed.push_back(&thread);
  }
  constexpr std::size_t several = 2;
  if (changed.size() < several) return false;
  for (Thread* thread : changed)
    take_kernels(process, *thread, process.open);
  return true;
}

// A CPU that is going offline or coming online at this moment is missing in a mask but still, or already,
// open. Puts it into the mask.
void ThreadRegister::settle_mask(pid_t thread, const CpuSet& open, Original& now) const {
  if (CpuSet whole = whole_mask_(thread) & open; !whole.empty()) now.mask = std::move(whole);
}

// Reads the CPUs open to a process if one of its threads was born with an unexplained mask.
void ThreadRegister::explain_mask(Process& process, pid_t thread, Original& now) {
  if (process.open.empty() || now.mask == process.original.mask ||
      changer_.given().before(now).mask != now.mask)
    return;
  note_open(process, open_to_(process.id.number));
  if (now.mask != process.original.mask) settle_mask(thread, process.open, now);
}

std::optional<std::vector<double>> ThreadRegister::look_at_load() {
  const std::int64_t now = now_ns();
  if (!gauge_ || !gauge_->due(now)) return std::nullopt;
  std::vector<pid_t> processes;
  for (const auto& [number, process] : processes_)
    processes.push_back(number);
  return gauge_->look(now, processes);
}

// The known load stays if there is no newer one.
void ThreadRegister::read_load() {
  if (auto load = look_at_load()) machine_state_.load = std::move(*load);
}

// Notices what the shim did inside the thread without a report: it put back the original mask or, in a main
// thread, took the prepared one.
void ThreadRegister::take_over_own(const Process& process, Thread& thread) {
  const auto state =
      spawning_ == nullptr ? SpawningThreads::State::none : spawning_->state_of(thread.state.number);
  thread.starting = state == SpawningThreads::State::starting;
  if (thread.puts_back || state != SpawningThreads::State::none) {
    const auto now = read_original(thread.state.number);
    const bool has_put_back = now && now->mask == thread.state.original.mask;
    if (has_put_back) {
      thread.state.has_taken(now->mask);
      thread.new_born = true;  // so that it is given its mask again
      thread.puts_back = false;
    }
    // It stays registered until it has its mask again, because it may start another program before that.
    if (state == SpawningThreads::State::done && !has_put_back) spawning_->take_out(thread.state.number);
    if (has_put_back || state != SpawningThreads::State::none) return;
  }
  if (!thread.main || laid_for_main_.empty()) return;
  const auto now = read_original(thread.state.number);
  if (!now || now->mask == thread.state.last.mask || !laid_for_main_.contains(now->mask.to_string())) return;
  Original taken = thread.state.last;
  taken.mask = now->mask;
  if (!same_but_nice(*now, taken)) return;
  thread.state.has_taken(taken.mask);
  thread.wanted.mask = std::move(taken.mask);
  if (process.threads.size() == 1) thread.in_place_ns = now_ns();
}

std::optional<InheritedSettings> ThreadRegister::inherited_from(pid_t number) {
  const std::scoped_lock lock(mutex_);
  const auto owner = owner_.find(number);
  if (owner == owner_.end()) return std::nullopt;
  Process& process = processes_.at(owner->second);
  Thread& thread = process.threads.at(number);
  const Original now = read_original(number).value_or(thread.state.last);
  // It may just have chosen a mask that is also given to others. Later the two cases could not be told apart.
  if (!process.left_alone.contains(number) &&
      (same_but_nice(now, thread.state.last) || changed_by_kernel(process, thread, now)))
    return InheritedSettings{thread.state.original, thread.state.last};
  return InheritedSettings{ThreadChanger::own_of(thread.state, now), now, true};
}

ThreadRegister::Thread& ThreadRegister::add(Process& process, Thread thread) {
  thread.order = next_thread_++;
  last_birth_ns_ = process.last_birth_ns = now_ns();
  const pid_t number = thread.state.number;
  owner_[number] = process.id.number;
  Thread& added = process.threads.emplace(number, std::move(thread)).first->second;
  ++births_;
  ++alive_;
  crowd_changed_ = true;
  if (restored_) return added;
  ++counts_.births;
  counts_.most_alive = std::max(counts_.most_alive, alive_);
  crowds_.change(processes_.size(), alive_);
  return added;
}

void ThreadRegister::forget(Process& process, std::map<pid_t, Thread>::iterator thread) {
  times_.ended(thread->first);
  if (spawning_ != nullptr) spawning_->forget(thread->first);
  process.left_alone.erase(thread->first);
  owner_.erase(thread->first);
  process.threads.erase(thread);
  --alive_;
  crowd_changed_ = true;
}

void ThreadRegister::forget_if_empty(pid_t number) {
  const auto process = processes_.find(number);
  if (process != processes_.end() && process->second.threads.empty()) processes_.erase(process);
}

Status ThreadRegister::process_began(pid_t number, const std::optional<InheritedSettings>& inherited) {
  const std::scoped_lock lock(mutex_);
  if (processes_.contains(number)) return {};
  const auto stat = read_task_stat(number, number);
  if (!stat) return std::unexpected(Error{ErrorKind::ended, fmt::format("process {} is gone", number)});
  auto now = read_original(number);
  if (!now) return std::unexpected(now.error());
  // Inherited limits are known already; reading them takes a while.
  CpuSet open = inherited && !program_open_.empty() ? program_open_ : open_to_(number);
  if (!inherited && now->mask != open && !open.empty()) {
    // It may have changed before the open CPUs were read.
    if (auto again = read_original(number)) now = std::move(again);
    if (open.contains_all(now->mask)) settle_mask(number, open, *now);
  }
  // Some containers show only part of the control groups; do not trust what is read there.
  if (!open.contains_all(now->mask)) open = CpuSet();
  Origin origin =
      origin_of(*now, program_original_ ? &*program_original_ : nullptr, inherited, changer_.given());
  if (!inherited && origin.original.mask != now->mask && is_chosen_ && is_chosen_(now->mask)) {
    origin.original.mask = now->mask;
    origin.alone = true;
  }
  if (!inherited || !program_original_)
    origin.original.any_cpu = !open.empty() && origin.original.mask == open;
  if (!program_original_) {
    program_original_ = origin.original;
    program_open_ = open;
  }
  Process process{.order = next_process_++,
                  .id = {number, stat->start_time},
                  .original = origin.original,
                  .alone = origin.alone,
                  .threads = {},
                  .left_alone = {},
                  .open = open};
  if (!restored_) {
    changer_.note(journal_->add_process(process.id, process.original));
    ++counts_.processes;
  }
  Process& added = processes_.emplace(number, std::move(process)).first->second;
  Thread& main = add(added, {.state = {number, added.original, *now, {}, open},
                             .main = true,
                             .name = stat->name,
                             .puts_back = spawning_ != nullptr && now->mask != added.original.mask});
  if (origin.alone) leave_alone(added, main);
  place_newcomer(added, main);
  return {};
}

void ThreadRegister::program_begins() {
  const std::scoped_lock lock(mutex_);
  crowds_.begin();
}

void ThreadRegister::process_executed(pid_t number, pid_t former) {
  const std::scoped_lock lock(mutex_);
  const auto found = processes_.find(number);
  if (found == processes_.end()) return;
  Process& process = found->second;
  auto survivor = process.threads.find(former);
  // Its old number had gone before the report, and an observation may have dropped the thread.
  const bool forgotten = survivor == process.threads.end();
  if (forgotten) survivor = process.threads.find(number);
  if (survivor == process.threads.end()) return;
  bool alone = process.left_alone.contains(survivor->first);
  Thread thread = std::move(survivor->second);
  const auto now = read_original(number);
  if (forgotten && now && !same_but_nice(*now, thread.state.last)) {
    const Origin origin = origin_of(*now, &process.original, std::nullopt, changer_.given());
    thread.state = {number, origin.original, *now, {}, process.open};
    alone = origin.alone;
  }
  owner_.erase(survivor->first);
  process.threads.erase(survivor);
  --alive_;
  while (!process.threads.empty())
    forget(process, process.threads.begin());
  process.left_alone.clear();

  const auto stat = read_task_stat(number, number);
  thread.state.number = number;
  thread.main = true;
  thread.name = stat ? stat->name : "";
  thread.new_born = true;
  times_.renumber(former, number);
  // A new program asks for the number of CPUs first, so settling starts anew.
  last_birth_ns_ = process.last_birth_ns = now_ns();
  owner_[number] = number;
  Thread& main = process.threads.emplace(number, std::move(thread)).first->second;
  take_over_own(process, main);
  main.in_place_ns.reset();
  ++alive_;
  crowds_.change(processes_.size(), alive_);
  if (alone) process.left_alone.insert(number);
  follow_policy();
}

void ThreadRegister::makes_a_thread(pid_t maker) {
  const std::scoped_lock lock(mutex_);
  if (restored_ || !policy_.traits().main_at_first_birth) return;
  const auto [process, main] = find(maker);
  if (process == nullptr || !main->main || process->threads.size() > 1 || process->left_alone.contains(maker))
    return;
  read_load();
  std::vector<std::pair<Process*, Thread*>> threads;
  const std::vector<ThreadPlan> plans = plans_by(policy_, threads, process);
  for (std::size_t i = 0; i < threads.size(); ++i)
    if (threads[i].second == main) {
      main->in_place_ns.reset();
      give(*process, *main, plans[i]);
      main->in_place_ns = now_ns();
    }
}

void ThreadRegister::thread_began(pid_t number, pid_t owner,
                                  const std::optional<InheritedSettings>& inherited, const CpuSet& given) {
  const std::scoped_lock lock(mutex_);
  const auto found = processes_.find(owner);
  if (found == processes_.end() || found->second.threads.contains(number)) return;
  Process& process = found->second;
  const auto now = read_original(number);
  if (!now) return;
  // The mask that it took comes from millrace and says nothing about its class.
  const bool took = !given.empty() && now->mask == given;
  Original without = *now;
  if (took) without.mask = process.original.mask;
  explain_mask(process, number, without);
  Origin origin = origin_of(without, &process.original, inherited, changer_.given());
  if (took) origin.original.mask = process.original.mask;
  if (origin.original.mask == process.original.mask) origin.original.any_cpu = process.original.any_cpu;
  const bool of_family = same_but_nice(origin.original, process.original);
  if (!restored_ && !of_family) changer_.note(journal_->add_thread(process.id, number, origin.original));
  Thread& added = add(process, {.state = {number, origin.original, *now, {}, process.open}});
  if (const auto main = process.threads.find(owner); main != process.threads.end())
    main->second.in_place_ns.reset();
  if (origin.alone || (process.alone && of_family)) leave_alone(process, added);
  place_newcomer(process, added);
}

void ThreadRegister::thread_ended(pid_t number) {
  const std::scoped_lock lock(mutex_);
  const auto owner = owner_.find(number);
  if (owner == owner_.end()) return;
  const pid_t id = owner->second;
  Process& process = processes_.at(id);
  forget(process, process.threads.find(number));
  forget_if_empty(id);
  crowds_.change(processes_.size(), alive_);
}

void ThreadRegister::set_policy(Policy policy) {
  const std::scoped_lock lock(mutex_);
  policy_ = std::move(policy);
  follow_policy();
}

void ThreadRegister::set_machine_state(MachineState machine_state) {
  const std::scoped_lock lock(mutex_);
  machine_state.by_unit = std::move(machine_state_.by_unit);
  if (machine_state.load.empty()) machine_state.load = std::move(machine_state_.load);
  if (!program_open_.empty()) machine_state.allowed = confined(given_at_start_, program_open_);
  machine_state_ = std::move(machine_state);
  follow_policy();
}

void ThreadRegister::set_by_unit(std::map<int, CpuSet> by_unit) {
  const std::scoped_lock lock(mutex_);
  if (machine_state_.by_unit == by_unit) return;
  machine_state_.by_unit = std::move(by_unit);
  follow_policy();
}

// Beyond this many threads, policies give masks as wide as caches or wider.
std::size_t ThreadRegister::crowd_size() const {
  constexpr std::size_t least = 64;
  constexpr int for_each_cpu = 4;
  return std::max(least, static_cast<std::size_t>(for_each_cpu * machine_state_.allowed.count()));
}

LivingThread ThreadRegister::living(const Process& process, const Thread& thread) {
  return {.view = {thread.order, process.order, thread.main, thread.name, thread.wanted.mask},
          .alone = process.threads.size() == 1,
          .last_birth_ns = process.last_birth_ns};
}

// Main has its mask before its first thread becomes visible. As a lone thread it would be given back its old
// mask. So it keeps its place for settling_ns, by which time that thread is seen.
ThreadPlan ThreadRegister::kept_in_place(const Process& process, const Thread& thread,
                                         ThreadPlan plan) const {
  if (policy_.traits().main_at_first_birth && plan.mask.empty() && process.threads.size() == 1 &&
      thread.in_place_ns && now_ns() - *thread.in_place_ns < settling_ns)
    plan.mask = thread.wanted.mask;
  return plan;
}

// Returns one plan for each of `threads`, which is filled with the threads that are not left alone. With
// `maker`, plans as if that process had one more thread.
std::vector<ThreadPlan> ThreadRegister::plans_by(const Policy& policy,
                                                 std::vector<std::pair<Process*, Thread*>>& threads,
                                                 const Process* maker) {
  for (auto& [number, process] : processes_)
    for (auto& [id, thread] : process.threads) {
      if (process.left_alone.contains(id)) continue;
      take_over_own(process, thread);
      threads.emplace_back(&process, &thread);
    }
  std::ranges::sort(threads, {}, [](const auto& entry) { return entry.second->order; });
  std::vector<LivingThread> all;
  all.reserve(threads.size());
  for (const auto& [process, thread] : threads) {
    all.push_back(living(*process, *thread));
    if (process == maker) all.back().alone = false;
  }
  if (maker != nullptr) all.push_back({.view = {.number = next_thread_, .process = maker->order}});
  return settled_plans(policy, machine_state_, all, now_ns());
}

void ThreadRegister::place_newcomer(Process& process, Thread& thread) {
  const bool alone = process.left_alone.contains(thread.state.number);
  if (restored_) {
    // Undo what it inherited from a maker that was being restored at its birth.
    const Original& original = thread.state.original;
    std::ignore = alone ? restore_thread(thread.state.number, original, given_to(original, thread.state.last))
                        : restore_thread(thread.state.number, original, journal_->content());
    return;
  }
  if (alone) return;
  if (policy_.traits().each_by_itself) {
    give(process, thread,
         settled_plans(policy_, machine_state_, {living(process, thread)}, now_ns()).front());
  } else if (static_cast<std::size_t>(alive_) <= crowd_size()) {
    read_load();
    follow_policy();
  } else {
    to_be_planned_ = true;
    give(process, thread, {{}, newest_plan_.scheduling_class, newest_plan_.slice_ns});
  }
}

void ThreadRegister::follow_policy() {
  if (restored_) return;
  to_be_planned_ = false;
  std::vector<std::pair<Process*, Thread*>> threads;
  const std::vector<ThreadPlan> plans = plans_by(policy_, threads);
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const auto& [process, thread] = threads[i];
    if (thread->new_born || thread->wanted != kept_in_place(*process, *thread, plans[i]))
      give(*process, *thread, plans[i]);
  }
  if (!plans.empty()) newest_plan_ = plans.back();
}

void ThreadRegister::give(Process& process, Thread& thread, const ThreadPlan& wanted) {
  take_over_own(process, thread);
  if (thread.starting) return;
  const ThreadPlan plan = kept_in_place(process, thread, wanted);
  thread.new_born = false;
  thread.wanted = plan;
  if (!plan.mask.empty() && plan.mask != thread.state.original.mask && on_mask_)
    on_mask_(plan.mask, thread.state.original.mask);
  if (spawning_ != nullptr && !spawning_->hold(thread.state.number)) {
    thread.new_born = true;
    return;
  }
  if (changer_.give(thread.state, plan)) {
    thread.state.open = process.open;
    thread.state.open_changed = false;
    if (spawning_ != nullptr) spawning_->take_out(thread.state.number);
    return;
  }
  if (spawning_ != nullptr) spawning_->let_go(thread.state.number);
  if (looks_after_itself(process, thread))
    leave_alone(process, thread);
  else
    thread.new_born = true;  // it has begun to start a program meanwhile
}

// A thread registers as a starter before it changes anything. So if that was unknown when its mask was read,
// it is known by now.
bool ThreadRegister::looks_after_itself(Process& process, Thread& thread) {
  if (ThreadChanger::as_left(thread.state)) return false;
  take_over_own(process, thread);
  const auto now = read_original(thread.state.number);
  return now && !same_but_nice(*now, thread.state.last) && !changed_by_kernel(process, thread, *now);
}

// Drops spawning that ended meanwhile, including those of processes that were never seen.
void ThreadRegister::forget_spawning() {
  if (spawning_ == nullptr) return;
  for (const pid_t thread : spawning_->all())
    if (!owner_.contains(thread) && !read_original(thread)) spawning_->forget(thread);
}

void ThreadRegister::leave_alone(Process& process, Thread& thread) {
  process.left_alone.insert(thread.state.number);
  std::ignore = journal_->leave_alone(process.id, thread.state.number,
                                      given_to(thread.state.original, thread.state.last));
  if (thread.name.empty())
    if (const auto stat = read_task_stat(process.id.number, thread.state.number)) thread.name = stat->name;
  counts_.left_alone.insert(thread.name);
}

RunTimes ThreadRegister::observe() {
  const std::scoped_lock lock(mutex_);
  std::vector<std::pair<pid_t, pid_t>> gone;
  bool renamed = false;
  bool active = std::exchange(crowd_changed_, false);
  for (auto& [number, process] : processes_) {
    // Read before its threads, so that run time in between is noticed at the next observation.
    const auto run_ns = run_time_of_process(number);
    if (run_ns && run_ns == std::exchange(process.run_ns, run_ns)) continue;
    for (auto& [id, thread] : process.threads) {
      const auto has_run = times_.read(number, id);
      if (!has_run) {
        gone.emplace_back(number, id);
        continue;
      }
      active = active || *has_run;
      if (!thread.name.empty()) continue;
      if (const auto stat = read_task_stat(number, id)) thread.name = stat->name;
      renamed = true;
    }
  }
  times_.read_migrations(migrations_read_at_once);
  // The next birth then sees recent load; threads are not moved because of load alone.
  std::ignore = look_at_load();
  for (const auto& [number, id] : gone) {
    const auto process = processes_.find(number);
    if (id != number && process->second.threads.size() == 2)
      find_executed(process->second, process->second.threads.at(id));
    forget(process->second, process->second.threads.find(id));
    forget_if_empty(number);
  }
  crowds_.change(processes_.size(), alive_);
  ++activity_.observations;
  if (active || !gone.empty()) ++activity_.changes;
  // Read each time: on a busy machine, observations can be seconds apart.
  if (find_open() || activity_.observations % observations_between_checks == 0) find_changed_by_others();
  // Policies may depend on names, and main threads may have settled.
  if (renamed || to_be_planned_ || !gone.empty() || activity_.observations % 2 == 0) follow_policy();
  return times_.sum();
}

// Checks whether `last`, which is gone, executed a program and has main's number now. With polled births,
// such an exec is not reported.
void ThreadRegister::find_executed(Process& process, const Thread& last) {
  const auto main = process.threads.find(process.id.number);
  const auto now = read_original(process.id.number);
  if (main == process.threads.end() || !now || same_but_nice(*now, main->second.state.last) ||
      !same_but_nice(*now, last.state.last))
    return;
  main->second.state = {process.id.number, last.state.original, *now, last.state.asked, last.state.open};
  main->second.new_born = true;
  main->second.in_place_ns.reset();
  last_birth_ns_ = process.last_birth_ns = now_ns();
}

void ThreadRegister::find_changed_by_others() {
  static_cast<void>(find_open());
  for (auto& [number, process] : processes_)
    for (auto& [id, thread] : process.threads)
      if (!process.left_alone.contains(id)) {
        take_over_own(process, thread);
        if (looks_after_itself(process, thread)) leave_alone(process, thread);
      }
  forget_spawning();
}

std::int64_t ThreadRegister::migrations() const {
  const std::scoped_lock lock(mutex_);
  return times_.migrations();
}

ThreadRegister::Activity ThreadRegister::activity() const {
  const std::scoped_lock lock(mutex_);
  return activity_;
}

void ThreadRegister::change_nothing(const Error& reason) {
  const std::scoped_lock lock(mutex_);
  changer_.note(std::unexpected(reason));
}

Restored ThreadRegister::restore() {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(restored_, true)) return {};
  find_changed_by_others();
  return placement::restore(journal_->content(), open_to_);
}

RegisterCounts ThreadRegister::counts() const {
  const std::scoped_lock lock(mutex_);
  RegisterCounts counts = counts_;
  const ThreadChanger::Counts& changed = changer_.counts();
  counts.changes = changed.changes;
  counts.refused = changed.refused;
  counts.first_refusal = changed.first_refusal;
  counts.not_journalled = changed.not_journalled;
  counts.crowds = crowds_.crowds();
  return counts;
}

int ThreadRegister::births() const {
  const std::scoped_lock lock(mutex_);
  return births_;
}

std::int64_t ThreadRegister::last_birth_ns() const {
  const std::scoped_lock lock(mutex_);
  return last_birth_ns_;
}

bool ThreadRegister::knows(pid_t thread) const {
  const std::scoped_lock lock(mutex_);
  return owner_.contains(thread);
}

bool ThreadRegister::has_what_was_given(pid_t thread) const {
  const std::scoped_lock lock(mutex_);
  const auto now = read_original(thread);
  return now && !same_but_nice(changer_.given().before(*now), *now);
}

int ThreadRegister::alive() const {
  const std::scoped_lock lock(mutex_);
  return alive_;
}

bool ThreadRegister::changes_anything(const Policy& policy) {
  const std::scoped_lock lock(mutex_);
  std::vector<std::pair<Process*, Thread*>> threads;
  const std::vector<ThreadPlan> plans = plans_by(policy, threads);
  for (std::size_t i = 0; i < threads.size(); ++i)
    if (is_change(threads[i].second->state.original, plans[i])) return true;
  return false;
}

std::vector<pid_t> ThreadRegister::processes() const {
  const std::scoped_lock lock(mutex_);
  std::vector<pid_t> numbers;
  for (const auto& [number, process] : processes_)
    numbers.push_back(number);
  return numbers;
}

std::vector<pid_t> ThreadRegister::threads() const {
  const std::scoped_lock lock(mutex_);
  std::vector<pid_t> numbers;
  for (const auto& [number, process] : processes_)
    for (const auto& [id, thread] : process.threads)
      numbers.push_back(id);
  return numbers;
}

std::vector<ThreadIdentity> ThreadRegister::identities() const {
  const std::scoped_lock lock(mutex_);
  std::vector<ThreadIdentity> all;
  for (const auto& [number, process] : processes_)
    for (const auto& [id, thread] : process.threads)
      all.push_back({id, number, thread.order, thread.name, thread.state.original.mask,
                     process.left_alone.contains(id)});
  return all;
}

}  // namespace millrace::placement
