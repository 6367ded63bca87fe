#include "millrace/model/simulation/processors.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace millrace::model {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr int unbounded = std::numeric_limits<int>::max();

// Orders a heap with the first to finish in front.
constexpr auto later = [](const auto& a, const auto& b) {
  return a.done_at != b.done_at ? a.done_at > b.done_at : a.started > b.started;
};

}  // namespace

Processors::Processors(int groups, int cores_per_group) : cores_(groups * cores_per_group) {
  groups_.assign(static_cast<std::size_t>(groups), {.cores = cores_per_group});
  groups_.push_back({.cores = unbounded});
  leaves_ = std::bit_ceil(groups_.size());
  tree_.assign(2 * leaves_, never);
}

void Processors::compute(int job, int group, double seconds) {
  add(static_cast<std::size_t>(group), job, seconds);
}

void Processors::wait(int job, double seconds) { add(groups_.size() - 1, job, seconds); }

std::optional<int> Processors::next_done() {
  if (tree_[1] == never) return std::nullopt;
  std::size_t node = 1;
  while (node < leaves_)
    node = tree_[2 * node] <= tree_[2 * node + 1] ? 2 * node : 2 * node + 1;
  const std::size_t index = node - leaves_;
  busy_core_seconds_ += busy_cores_ * (tree_[node] - now_);
  now_ = tree_[node];
  Group& group = groups_[index];
  catch_up(group);
  busy_cores_ -= busy(group);
  std::ranges::pop_heap(group.running, later);
  // Rounding must not leave the clock behind a finished job.
  group.clock = std::max(group.clock, group.running.back().done_at);
  const int job = group.running.back().job;
  group.running.pop_back();
  busy_cores_ += busy(group);
  if (group.running.empty()) group.clock = 0;  // keeps its precision in long runs
  reschedule(index);
  return job;
}

void Processors::add(std::size_t index, int job, double seconds) {
  Group& group = groups_[index];
  catch_up(group);
  busy_cores_ -= busy(group);
  group.running.push_back({group.clock + seconds, started_++, job});
  std::ranges::push_heap(group.running, later);
  busy_cores_ += busy(group);
  reschedule(index);
}

void Processors::catch_up(Group& group) const {
  group.clock += (now_ - group.read_at) * rate(group);
  group.read_at = now_;
}

double Processors::rate(const Group& group) {
  const auto jobs = static_cast<double>(group.running.size());
  return jobs <= group.cores ? 1 : group.cores / jobs;
}

int Processors::busy(const Group& group) {
  return group.cores == unbounded ? 0 : std::min(group.cores, static_cast<int>(group.running.size()));
}

void Processors::reschedule(std::size_t index) {
  const Group& group = groups_[index];
  std::size_t node = leaves_ + index;
  tree_[node] = group.running.empty()
                    ? never
                    : now_ + std::max(0.0, group.running.front().done_at - group.clock) / rate(group);
  for (node /= 2; node >= 1; node /= 2)
    tree_[node] = std::min(tree_[2 * node], tree_[2 * node + 1]);
}

}  // namespace millrace::model
