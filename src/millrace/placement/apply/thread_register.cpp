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
    : journal_(&journal),
      others_(tree_, journal,
              {.open_cpus = [](pid_t process) { return machine::open_cpus(process); },
               .whole_mask = machine::whole_mask},
              [this](const CpuSet& then, const CpuSet& now) { placer_.confine(then, now); }),
      placer_(std::move(machine_state), std::move(policy), journal, tree_, others_) {}

void ThreadRegister::on_mask(std::function<void(const CpuSet&, const CpuSet&)> told) {
  const std::scoped_lock lock(mutex_);
  placer_.on_mask(std::move(told));
}

void ThreadRegister::watch_spawning(SpawningThreads& spawning) {
  const std::scoped_lock lock(mutex_);
  others_.watch_spawning(spawning);
}

void ThreadRegister::ask_chosen(std::function<bool(const CpuSet&)> asked) {
  const std::scoped_lock lock(mutex_);
  is_chosen_ = std::move(asked);
}

void ThreadRegister::watch_load() {
  const std::scoped_lock lock(mutex_);
  placer_.watch_load();
}

void ThreadRegister::ask_open(std::function<CpuSet(pid_t)> asked, KernelMasks kernel) {
  const std::scoped_lock lock(mutex_);
  others_.sources().open_cpus = std::move(asked);
  others_.sources().kernel = kernel;
}

void ThreadRegister::ask_whole_mask(std::function<CpuSet(pid_t)> asked) {
  const std::scoped_lock lock(mutex_);
  others_.sources().whole_mask = std::move(asked);
}

CpuSet ThreadRegister::allowed() const {
  const std::scoped_lock lock(mutex_);
  return placer_.allowed();
}

std::optional<InheritedSettings> ThreadRegister::inherited_from(pid_t number) {
  const std::scoped_lock lock(mutex_);
  const auto [process, thread] = tree_.find(number);
  if (process == nullptr) return std::nullopt;
  const Original now = read_original(number).value_or(thread->state.last);
  // It may just have chosen a mask that is also given to others. Later the two cases could not be told apart.
  if (!process->left_alone.contains(number) &&
      (same_but_nice(now, thread->state.last) || others_.changed_by_kernel(*process, *thread, now)))
    return InheritedSettings{thread->state.original, thread->state.last};
  return InheritedSettings{ThreadChanger::own_of(thread->state, now), now, true};
}

FollowedThread& ThreadRegister::add(FollowedProcess& process, FollowedThread thread) {
  FollowedThread& added = tree_.add_thread(process, std::move(thread), now_ns());
  crowd_changed_ = true;
  if (restored_) return added;
  ++counts_.births;
  counts_.most_alive = std::max(counts_.most_alive, tree_.alive());
  crowds_.change(tree_.processes().size(), tree_.alive());
  return added;
}

void ThreadRegister::forget_times(pid_t thread) {
  times_.ended(thread);
  if (others_.spawning() != nullptr) others_.spawning()->forget(thread);
  crowd_changed_ = true;
}

Status ThreadRegister::process_began(pid_t number, const std::optional<InheritedSettings>& inherited) {
  const std::scoped_lock lock(mutex_);
  if (tree_.processes().contains(number)) return {};
  const auto stat = read_task_stat(number, number);
  if (!stat) return std::unexpected(Error{ErrorKind::ended, fmt::format("process {} is gone", number)});
  auto now = read_original(number);
  if (!now) return std::unexpected(now.error());
  const CpuSet open = others_.open_at_birth(number, inherited.has_value(), *now);
  Origin origin = origin_of(*now, tree_.program() ? &tree_.program()->original : nullptr, inherited,
                            placer_.changer().given_before_birth(stat->start_time));
  if (!inherited && origin.original.mask != now->mask && is_chosen_ && is_chosen_(now->mask)) {
    origin.original.mask = now->mask;
    origin.alone = true;
  }
  if (!inherited || !tree_.program()) origin.original.any_cpu = !open.empty() && origin.original.mask == open;
  const ProcessId id{number, stat->start_time};
  if (!restored_) {
    placer_.changer().note(journal_->add_process(id, origin.original));
    ++counts_.processes;
  }
  FollowedProcess& process =
      tree_.add_process({.id = id, .original = origin.original, .alone = origin.alone, .open = open});
  FollowedThread& main =
      add(process, {.state = {number, origin.original, *now, {}, open},
                    .main = true,
                    .name = stat->name,
                    .puts_back = others_.spawning() != nullptr && now->mask != origin.original.mask});
  if (origin.alone) others_.leave_alone(process, main);
  place_newcomer(process, main);
  return {};
}

void ThreadRegister::program_begins() {
  const std::scoped_lock lock(mutex_);
  crowds_.begin();
}

void ThreadRegister::process_executed(pid_t number, pid_t former) {
  const std::scoped_lock lock(mutex_);
  const auto found = tree_.processes().find(number);
  if (found == tree_.processes().end()) return;
  FollowedProcess& process = found->second;
  // Its old number had gone before the report, and an observation may have dropped the thread.
  const bool forgotten = !process.threads.contains(former);
  if (forgotten && !process.threads.contains(number)) return;
  for (const pid_t ended : tree_.execute(process, forgotten ? number : former, now_ns()))
    forget_times(ended);
  times_.renumber(former, number);
  FollowedThread& main = process.threads.at(number);
  const auto now = read_original(number);
  if (forgotten && now && !same_but_nice(*now, main.state.last)) {
    const Origin origin = origin_of(*now, &process.original, std::nullopt, placer_.changer().given());
    main.state = {number, origin.original, *now, {}, process.open};
    process.left_alone.clear();
    if (origin.alone) process.left_alone.insert(number);
  }
  const auto stat = read_task_stat(number, number);
  main.name = stat ? stat->name : "";
  others_.notice_put_back(main);
  main.in_place_ns.reset();
  crowds_.change(tree_.processes().size(), tree_.alive());
  follow_policy();
}

void ThreadRegister::makes_a_thread(pid_t maker) {
  const std::scoped_lock lock(mutex_);
  if (const auto [process, main] = tree_.find(maker); process != nullptr && !restored_)
    placer_.place_first_maker(*process, *main);
}

// The start time is read only if it matters. A first thread may have executed a program with what another
// thread was given, and has its process's start time.
const GivenStates& ThreadRegister::given_before_birth(pid_t thread, pid_t owner, const Original& now) const {
  const GivenStates& given = placer_.changer().given();
  if (thread == owner || same_but_nice(given.before(now), now)) return given;
  const auto stat = read_task_stat(owner, thread);
  return placer_.changer().given_before_birth(stat ? std::optional(stat->start_time) : std::nullopt);
}

void ThreadRegister::thread_began(pid_t number, pid_t owner,
                                  const std::optional<InheritedSettings>& inherited) {
  const std::scoped_lock lock(mutex_);
  const auto found = tree_.processes().find(owner);
  if (found == tree_.processes().end() || found->second.threads.contains(number)) return;
  FollowedProcess& process = found->second;
  const auto now = read_original(number);
  if (!now) return;
  const GivenStates& given = given_before_birth(number, owner, *now);
  Original explained = *now;
  if (!process.open.empty() && explained.mask != process.original.mask &&
      given.before(explained).mask == explained.mask)
    others_.explain_mask(process, number, explained);
  Origin origin = origin_of(explained, &process.original, inherited, given);
  if (origin.original.mask == process.original.mask) origin.original.any_cpu = process.original.any_cpu;
  const bool of_family = same_but_nice(origin.original, process.original);
  if (!restored_ && !of_family)
    placer_.changer().note(journal_->add_thread(process.id, number, origin.original));
  FollowedThread& added = add(process, {.state = {number, origin.original, *now, {}, process.open}});
  if (const auto main = process.threads.find(owner); main != process.threads.end())
    main->second.in_place_ns.reset();
  if (origin.alone || (process.alone && of_family)) others_.leave_alone(process, added);
  place_newcomer(process, added);
}

void ThreadRegister::thread_ended(pid_t number) {
  const std::scoped_lock lock(mutex_);
  if (!tree_.contains(number)) return;
  forget(number);
  crowds_.change(tree_.processes().size(), tree_.alive());
}

void ThreadRegister::forget(pid_t thread) {
  forget_times(thread);
  tree_.remove(thread);
}

void ThreadRegister::follow_policy() {
  if (!restored_) placer_.place_all();
}

void ThreadRegister::place_newcomer(FollowedProcess& process, FollowedThread& thread) {
  const pid_t number = thread.state.number;
  const bool alone = process.left_alone.contains(number);
  if (!restored_) {
    if (!alone) placer_.place_newcomer(process, thread);
    return;
  }
  // Undo what it inherited from a maker that was being restored at its birth.
  const Original& original = thread.state.original;
  std::ignore = alone ? restore_thread(number, original, given_to(original, thread.state.last))
                      : restore_thread(number, original, journal_->content());
}

void ThreadRegister::set_policy(Policy policy) {
  const std::scoped_lock lock(mutex_);
  placer_.set_policy(std::move(policy));
  follow_policy();
}

void ThreadRegister::set_machine_state(MachineState machine_state) {
  const std::scoped_lock lock(mutex_);
  placer_.set_machine_state(std::move(machine_state));
  follow_policy();
}

void ThreadRegister::set_by_unit(std::map<int, CpuSet> by_unit) {
  const std::scoped_lock lock(mutex_);
  if (placer_.set_by_unit(std::move(by_unit))) follow_policy();
}

RunTimes ThreadRegister::observe() {
  const std::scoped_lock lock(mutex_);
  std::vector<std::pair<pid_t, pid_t>> gone;
  bool renamed = false;
  bool active = std::exchange(crowd_changed_, false);
  for (auto& [number, process] : tree_.processes()) {
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
  std::ignore = placer_.look_at_load();
  for (const auto& [number, id] : gone) {
    FollowedProcess& process = tree_.processes().at(number);
    if (id != number && process.threads.size() == 2) find_executed(process, process.threads.at(id));
    forget(id);
  }
  crowds_.change(tree_.processes().size(), tree_.alive());
  ++activity_.observations;
  if (active || !gone.empty()) ++activity_.changes;
  // Read each time: on a busy machine, observations can be seconds apart.
  if (others_.find_open() || activity_.observations % observations_between_checks == 0) others_.find_all();
  // Policies may depend on names, and main threads may have settled.
  if (renamed || tree_.plan_awaited() || !gone.empty() || activity_.observations % 2 == 0) follow_policy();
  return times_.sum();
}

// Checks whether `last`, which is gone, executed a program and has main's number now. With polled births,
// such an exec is not reported.
void ThreadRegister::find_executed(FollowedProcess& process, const FollowedThread& last) {
  const auto main = process.threads.find(process.id.number);
  const auto now = read_original(process.id.number);
  if (main == process.threads.end() || !now || same_but_nice(*now, main->second.state.last) ||
      !same_but_nice(*now, last.state.last))
    return;
  main->second.state = {process.id.number, last.state.original, *now, last.state.asked, last.state.open};
  main->second.new_born = true;
  main->second.in_place_ns.reset();
  tree_.settle_anew(process, now_ns());
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
  placer_.changer().note(std::unexpected(reason));
}

Restored ThreadRegister::restore() {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(restored_, true)) return {};
  others_.find_all();
  return placement::restore(journal_->content(), others_.sources().open_cpus);
}

RegisterCounts ThreadRegister::counts() const {
  const std::scoped_lock lock(mutex_);
  RegisterCounts counts = counts_;
  const ThreadChanger::Counts& changed = placer_.changer().counts();
  counts.changes = changed.changes;
  counts.refused = changed.refused;
  counts.first_refusal = changed.first_refusal;
  counts.not_journalled = changed.not_journalled;
  counts.left_alone = others_.left_alone();
  counts.crowds = crowds_.crowds();
  return counts;
}

int ThreadRegister::births() const {
  const std::scoped_lock lock(mutex_);
  return tree_.births();
}

std::int64_t ThreadRegister::last_birth_ns() const {
  const std::scoped_lock lock(mutex_);
  return tree_.last_birth_ns();
}

bool ThreadRegister::knows(pid_t thread) const {
  const std::scoped_lock lock(mutex_);
  return tree_.contains(thread);
}

bool ThreadRegister::has_what_was_given(pid_t thread) const {
  const std::scoped_lock lock(mutex_);
  const auto now = read_original(thread);
  return now && !same_but_nice(placer_.changer().given().before(*now), *now);
}

int ThreadRegister::alive() const {
  const std::scoped_lock lock(mutex_);
  return tree_.alive();
}

bool ThreadRegister::changes_anything(const Policy& policy) {
  const std::scoped_lock lock(mutex_);
  return placer_.changes_anything(policy);
}

std::vector<pid_t> ThreadRegister::processes() const {
  const std::scoped_lock lock(mutex_);
  std::vector<pid_t> numbers;
  for (const auto& [number, process] : tree_.processes())
    numbers.push_back(number);
  return numbers;
}

std::vector<pid_t> ThreadRegister::threads() const {
  const std::scoped_lock lock(mutex_);
  std::vector<pid_t> numbers;
  for (const auto& [number, process] : tree_.processes())
    for (const auto& [id, thread] : process.threads)
      numbers.push_back(id);
  return numbers;
}

std::vector<ThreadIdentity> ThreadRegister::identities() const {
  const std::scoped_lock lock(mutex_);
  std::vector<ThreadIdentity> all;
  for (const auto& [number, process] : tree_.processes())
    for (const auto& [id, thread] : process.threads)
      all.push_back({id, number, thread.order, thread.name, thread.state.original.mask,
                     process.left_alone.contains(id)});
  return all;
}

}  // namespace millrace::placement
