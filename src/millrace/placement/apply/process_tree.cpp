#include "millrace/placement/apply/process_tree.h"

#include <algorithm>

namespace millrace::placement {

FollowedProcess& ProcessTree::add_process(FollowedProcess process) {
  process.order = next_process_++;
  if (!program_) program_ = {process.original, process.open};
  const pid_t number = process.id.number;
  return processes_.emplace(number, std::move(process)).first->second;
}

FollowedThread& ProcessTree::add_thread(FollowedProcess& process, FollowedThread thread, std::int64_t now) {
  thread.order = next_thread_++;
  last_birth_ns_ = process.last_birth_ns = now;
  const pid_t number = thread.state.number;
  owner_[number] = process.id.number;
  return process.threads.emplace(number, std::move(thread)).first->second;
}

void ProcessTree::remove(pid_t thread) {
  const auto owner = owner_.find(thread);
  if (owner == owner_.end()) return;
  const auto process = processes_.find(owner->second);
  owner_.erase(owner);
  process->second.left_alone.erase(thread);
  process->second.threads.erase(thread);
  if (process->second.threads.empty()) processes_.erase(process);
}

std::vector<pid_t> ProcessTree::execute(FollowedProcess& process, pid_t survivor, std::int64_t now) {
  auto left = process.threads.extract(survivor);
  const bool left_alone = process.left_alone.contains(survivor);
  owner_.erase(survivor);
  std::vector<pid_t> ended;
  for (const auto& [number, thread] : process.threads) {
    ended.push_back(number);
    owner_.erase(number);
  }
  process.threads.clear();
  process.left_alone.clear();
  const pid_t main = process.id.number;
  left.key() = left.mapped().state.number = main;
  left.mapped().main = left.mapped().new_born = true;
  process.threads.insert(std::move(left));
  if (left_alone) process.left_alone.insert(main);
  owner_[main] = main;
  settle_anew(process, now);
  return ended;
}

bool ProcessTree::confine(FollowedProcess& process, const machine::CpuSet& open) {
  const machine::CpuSet then = std::exchange(process.open, open);
  if (process.original.any_cpu) process.original.mask = open;
  for (auto& [number, thread] : process.threads) {
    thread.state.open_changed = true;
    if (thread.state.original.any_cpu) thread.state.original.mask = open;
  }
  if (then.empty() || then != program_->open) return false;
  program_->open = open;
  if (program_->original.any_cpu) program_->original.mask = open;
  return true;
}

ProcessTree::Found ProcessTree::find(pid_t thread) {
  const auto owner = owner_.find(thread);
  if (owner == owner_.end()) return {};
  FollowedProcess& process = processes_.at(owner->second);
  return {&process, &process.threads.at(thread)};
}

std::vector<ProcessTree::Found> ProcessTree::to_place() {
  std::vector<Found> threads;
  threads.reserve(owner_.size());
  for (auto& [number, process] : processes_)
    for (auto& [id, thread] : process.threads)
      if (!process.left_alone.contains(id)) threads.push_back({&process, &thread});
  std::ranges::sort(threads, {}, [](const Found& found) { return found.thread->order; });
  return threads;
}

}  // namespace millrace::placement
