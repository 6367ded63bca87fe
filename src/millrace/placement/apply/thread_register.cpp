#include "millrace/placement/apply/thread_register.h"

#include "millrace/base/clock.h"
#include "millrace/machine/thread_affinity.h"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <tuple>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;

// Opening a file costs several times reading it; beyond so many it is opened anew each time, so that the
// limit of 1024 open files of most systems is kept.
constexpr int most_open_files = 256;
constexpr int observations_between_checks = 10;
constexpr std::size_t migrations_read_at_once = 2;

bool same_but_nice(const Original& a, const Original& b) {
  return a.mask == b.mask && a.scheduling_class == b.scheduling_class && a.slice_ns == b.slice_ns;
}

}  // namespace

ThreadRegister::ThreadRegister(Surroundings surroundings, Policy policy, Journal& journal)
    : surroundings_(std::move(surroundings)), policy_(std::move(policy)), journal_(&journal) {}

ThreadRegister::~ThreadRegister() {
  for (auto& [number, process] : processes_)
    for (auto& [id, thread] : process.threads)
      if (thread.times_file >= 0) close(thread.times_file);
}

ThreadRegister::Thread* ThreadRegister::find(pid_t thread) {
  for (auto& [number, process] : processes_)
    if (const auto found = process.threads.find(thread); found != process.threads.end())
      return &found->second;
  return nullptr;
}

// To be called before `alive_` or the processes change.
void ThreadRegister::count_crowd() {
  const std::int64_t now = now_ns();
  if (alive_ > 0) crowd_ns_[{static_cast<int>(processes_.size()), alive_}] += now - crowd_since_ns_;
  crowd_since_ns_ = now;
}

void ThreadRegister::add(Process& process, Thread thread) {
  thread.order = next_thread_++;
  process.last_birth_ns = now_ns();
  const pid_t number = thread.number;
  process.threads.emplace(number, std::move(thread));
  ++counts_.births;
  counts_.most_alive = std::max(counts_.most_alive, ++alive_);
}

void ThreadRegister::forget(Process& process, std::map<pid_t, Thread>::iterator thread) {
  ended_times_ += thread->second.times;
  ended_migrations_ += thread->second.migrations;
  if (thread->second.times_file >= 0) {
    close(thread->second.times_file);
    --open_files_;
  }
  process.left_alone.erase(thread->first);
  process.threads.erase(thread);
  --alive_;
}

Status ThreadRegister::process_began(pid_t number, pid_t maker) {
  const std::scoped_lock lock(mutex_);
  if (restored_ || processes_.contains(number)) return {};
  const auto stat = read_task_stat(number, number);
  if (!stat) return failure("process {} is gone", number);
  auto now = read_original(number);
  if (!now) return std::unexpected(now.error());
  Process process{.order = next_process_++, .id = {number, stat->start_time}, .original = *now};
  // What its maker was given, it inherited.
  if (const Thread* parent = find(maker); parent != nullptr && same_but_nice(*now, parent->last))
    process.original = parent->original;
  if (auto written = journal_->add_process(process.id, process.original); !written) return written;
  ++counts_.processes;
  count_crowd();
  Process& added = processes_.emplace(number, std::move(process)).first->second;
  add(added, {.number = number, .main = true, .name = stat->name, .original = added.original, .last = *now});
  follow_policy();
  return {};
}

void ThreadRegister::process_executed(pid_t number, pid_t former) {
  const std::scoped_lock lock(mutex_);
  const auto found = processes_.find(number);
  if (found == processes_.end()) return;
  Process& process = found->second;
  const auto survivor = process.threads.find(former);
  if (survivor == process.threads.end()) return;
  const bool alone = process.left_alone.contains(former);
  count_crowd();
  Thread thread = std::move(survivor->second);
  process.threads.erase(survivor);
  --alive_;
  while (!process.threads.empty())
    forget(process, process.threads.begin());
  process.left_alone.clear();

  const auto stat = read_task_stat(number, number);
  thread.number = number;
  thread.main = true;
  thread.name = stat ? stat->name : "";
  thread.new_born = true;
  if (thread.times_file >= 0 && former != number) {
    // Its file has another name now.
    close(std::exchange(thread.times_file, -1));
    --open_files_;
  }
  process.threads.emplace(number, std::move(thread));
  ++alive_;
  if (alone) process.left_alone.insert(number);
  follow_policy();
}

void ThreadRegister::thread_began(pid_t number, pid_t owner, pid_t maker, const CpuSet& given) {
  const std::scoped_lock lock(mutex_);
  const auto found = processes_.find(owner);
  if (restored_ || found == processes_.end() || found->second.threads.contains(number)) return;
  Process& process = found->second;
  auto now = read_original(number);
  if (!now) return;
  Thread thread{.number = number, .original = process.original, .last = *now};
  const Thread* parent = find(maker);
  bool alone = !same_but_nice(*now, process.original);
  if (!given.empty() && now->mask == given) {
    alone = false;
  } else if (parent != nullptr && same_but_nice(*now, parent->last)) {
    thread.original = parent->original;
    alone = process.left_alone.contains(maker);
  } else if (parent == nullptr && alone) {
    // Whoever made it, it may have inherited what threads of this run were given.
    const bool mask_known =
        now->mask == process.original.mask || journal_->content().masks.contains(now->mask.to_string());
    const bool attributes_known = std::ranges::any_of(process.threads, [&](const auto& other) {
      return now->scheduling_class == other.second.last.scheduling_class &&
             now->slice_ns == other.second.last.slice_ns;
    });
    alone = !mask_known || !attributes_known;
  }
  if (alone) thread.original = *now;
  if (!same_but_nice(thread.original, process.original))
    if (const auto written = journal_->add_thread(process.id, number, thread.original); !written) return;
  count_crowd();
  add(process, std::move(thread));
  if (alone) leave_alone(process, process.threads.at(number));
  follow_policy();
}

void ThreadRegister::thread_ended(pid_t number) {
  const std::scoped_lock lock(mutex_);
  for (auto process = processes_.begin(); process != processes_.end(); ++process) {
    const auto thread = process->second.threads.find(number);
    if (thread == process->second.threads.end()) continue;
    count_crowd();
    forget(process->second, thread);
    if (process->second.threads.empty()) processes_.erase(process);
    return;
  }
}

void ThreadRegister::set_policy(Policy policy) {
  const std::scoped_lock lock(mutex_);
  policy_ = std::move(policy);
  follow_policy();
}

void ThreadRegister::set_surroundings(Surroundings surroundings) {
  const std::scoped_lock lock(mutex_);
  surroundings_ = std::move(surroundings);
  follow_policy();
}

// One plan for each of `threads`, which are set to those that are not left alone.
std::vector<ThreadPlan> ThreadRegister::plans_by(const Policy& policy, std::vector<Thread*>& threads) {
  std::vector<std::pair<Process*, Thread*>> found;
  for (auto& [number, process] : processes_)
    for (auto& [id, thread] : process.threads)
      if (!process.left_alone.contains(id)) found.emplace_back(&process, &thread);
  std::ranges::sort(found, {}, [](const auto& entry) { return entry.second->order; });
  std::vector<ThreadView> views;
  views.reserve(found.size());
  for (const auto& [process, thread] : found)
    views.push_back({thread->order, process->order, thread->main, thread->name});
  std::vector<ThreadPlan> plans = policy(surroundings_, views);
  plans.resize(views.size());
  const std::int64_t now = now_ns();
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto& [process, thread] = found[i];
    if (thread->main && (process->threads.size() == 1 || now - process->last_birth_ns < settling_ns))
      plans[i].mask = {};
    threads.push_back(thread);
  }
  return plans;
}

void ThreadRegister::follow_policy() {
  if (restored_) return;
  std::vector<Thread*> threads;
  const std::vector<ThreadPlan> plans = plans_by(policy_, threads);
  for (std::size_t i = 0; i < threads.size(); ++i) {
    Thread& thread = *threads[i];
    if (!thread.new_born && thread.wanted == plans[i]) continue;
    for (auto& [number, process] : processes_)
      if (process.threads.contains(thread.number)) {
        give(process, thread, plans[i]);
        break;
      }
  }
}

bool ThreadRegister::as_left(Thread& thread) const {
  const auto now = read_original(thread.number);
  return !now || same_but_nice(*now, thread.last);
}

void ThreadRegister::give(Process& process, Thread& thread, const ThreadPlan& plan) {
  thread.new_born = false;
  thread.wanted = plan;
  if (!as_left(thread)) return leave_alone(process, thread);

  const CpuSet& mask = plan.mask.empty() ? thread.original.mask : plan.mask;
  if (mask != thread.last.mask) {
    if (!journal_->add_mask(mask)) return;
    // Writing takes a while, and a thread that is not stopped may choose for itself meanwhile.
    if (!as_left(thread)) return leave_alone(process, thread);
    auto granted = machine::bind_thread(thread.number, mask);
    if (granted) {
      ++counts_.changes;
      if (*granted != mask && !journal_->add_mask(*granted)) return;
      thread.last.mask = std::move(*granted);
    } else {
      refuse(granted.error());
    }
  }
  machine::SchedulingChange change;
  const auto scheduling_class = plan.scheduling_class.value_or(thread.original.scheduling_class);
  if (scheduling_class != thread.last.scheduling_class) {
    change.scheduling_class = scheduling_class;
    if (!plan.scheduling_class) change.priority = thread.original.priority;
  }
  const bool fair = scheduling_class == machine::SchedulingClass::other ||
                    scheduling_class == machine::SchedulingClass::batch;
  const std::int64_t slice = plan.slice_ns.value_or(thread.original.slice_ns);
  if (fair && slice != thread.last.slice_ns) change.slice_ns = slice;
  if (change == machine::SchedulingChange()) return;
  if (!journal_->add_attributes()) return;
  const auto granted = machine::change_scheduling(thread.number, change);
  if (!granted) return refuse(granted.error());
  ++counts_.changes;
  thread.last.scheduling_class = granted->scheduling_class;
  thread.last.slice_ns = granted->slice_ns == machine::default_slice_ns() ? 0 : granted->slice_ns;
}

void ThreadRegister::leave_alone(Process& process, Thread& thread) {
  process.left_alone.insert(thread.number);
  std::ignore = journal_->leave_alone(process.id, thread.number);
  if (thread.name.empty())
    if (const auto stat = read_task_stat(process.id.number, thread.number)) thread.name = stat->name;
  counts_.left_alone.insert(thread.name);
}

void ThreadRegister::refuse(const Error& error) {
  // That a thread ends meanwhile is no refusal.
  if (error.message.ends_with("gone")) return;
  if (++counts_.refused == 1) counts_.first_refusal = error.message;
}

// False when the thread is gone.
bool ThreadRegister::observe_thread(Process& process, Thread& thread) {
  const std::string folder = fmt::format("/proc/{}/task/{}/", process.id.number, thread.number);
  int file = thread.times_file;
  if (file < 0) {
    file = open((folder + "schedstat").c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    if (open_files_ < most_open_files) {
      thread.times_file = file;
      ++open_files_;
    }
  }
  std::array<char, 96> text{};
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  if (file != thread.times_file) close(file);
  const auto times = parse_schedstat({text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))});
  if (!times) return false;
  thread.times = *times;
  return true;
}

RunTimes ThreadRegister::observe() {
  const std::scoped_lock lock(mutex_);
  RunTimes sum;
  std::vector<std::pair<Process*, Thread*>> living;
  std::vector<std::pair<pid_t, pid_t>> gone;
  bool renamed = false;
  for (auto& [number, process] : processes_)
    for (auto& [id, thread] : process.threads) {
      if (!observe_thread(process, thread)) {
        gone.emplace_back(number, id);
        continue;
      }
      living.emplace_back(&process, &thread);
      if (!thread.name.empty()) continue;
      if (const auto stat = read_task_stat(number, id)) thread.name = stat->name;
      renamed = true;
    }
  for (std::size_t i = 0; i < std::min(migrations_read_at_once, living.size()); ++i) {
    const auto& [process, thread] = living[next_migrations_++ % living.size()];
    const auto text =
        read_small_file(fmt::format("/proc/{}/task/{}/sched", process->id.number, thread->number));
    if (text) thread->migrations = parse_field(*text, "se.nr_migrations").value_or(thread->migrations);
  }
  if (!gone.empty()) count_crowd();
  for (const auto& [number, id] : gone) {
    const auto process = processes_.find(number);
    forget(process->second, process->second.threads.find(id));
    if (process->second.threads.empty()) processes_.erase(process);
  }
  if (++observations_ % observations_between_checks == 0) find_changed_by_others();
  // Policies may go by name, main threads may have settled.
  if (renamed || !gone.empty() || observations_ % 2 == 0) follow_policy();
  for (const auto& [number, process] : processes_)
    for (const auto& [id, thread] : process.threads)
      sum += thread.times;
  sum += ended_times_;
  return sum;
}

void ThreadRegister::find_changed_by_others() {
  for (auto& [number, process] : processes_)
    for (auto& [id, thread] : process.threads)
      if (!process.left_alone.contains(id) && !as_left(thread)) leave_alone(process, thread);
}

std::int64_t ThreadRegister::migrations() const {
  const std::scoped_lock lock(mutex_);
  std::int64_t sum = ended_migrations_;
  for (const auto& [number, process] : processes_)
    for (const auto& [id, thread] : process.threads)
      sum += thread.migrations;
  return sum;
}

Restored ThreadRegister::restore() {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(restored_, true)) return {};
  find_changed_by_others();
  return placement::restore(journal_->content());
}

RegisterCounts ThreadRegister::counts() const {
  const std::scoped_lock lock(mutex_);
  RegisterCounts counts = counts_;
  auto crowd_ns = crowd_ns_;
  if (alive_ > 0) crowd_ns[{static_cast<int>(processes_.size()), alive_}] += now_ns() - crowd_since_ns_;
  for (const auto& [crowd, ns] : crowd_ns)
    counts.crowds.push_back({crowd.first, crowd.second, seconds(ns)});
  return counts;
}

int ThreadRegister::alive() const {
  const std::scoped_lock lock(mutex_);
  return alive_;
}

bool ThreadRegister::changes_anything(const Policy& policy) {
  const std::scoped_lock lock(mutex_);
  std::vector<Thread*> threads;
  const std::vector<ThreadPlan> plans = plans_by(policy, threads);
  for (std::size_t i = 0; i < threads.size(); ++i) {
    const Original& original = threads[i]->original;
    if (!plans[i].mask.empty() && plans[i].mask != original.mask) return true;
    if (plans[i].scheduling_class.value_or(original.scheduling_class) != original.scheduling_class)
      return true;
    if (plans[i].slice_ns.value_or(original.slice_ns) != original.slice_ns) return true;
  }
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

}  // namespace millrace::placement
