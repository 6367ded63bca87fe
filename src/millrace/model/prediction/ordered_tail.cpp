#include "millrace/model/prediction/ordered_tail.h"

#include "millrace/model/pipeline/random.h"
#include "millrace/model/pipeline/recorded_calls.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <ranges>

namespace millrace::model {
namespace {

// From this many calls of a stage per item on, their sum is approximated by a normal distribution.
constexpr std::int64_t many_calls = 16;

// Maximum number of parts that is tracked.
constexpr double most_parts = 1e12;

double calls_seconds(const ServiceTime& service, std::int64_t calls, Random& random) {
  if (calls > many_calls) {
    const auto n = static_cast<double>(calls);
    return std::max(0.0, service.mean_seconds() * (n + service.cv() * std::sqrt(n) * random.normal()));
  }
  double sum = 0;
  for (std::int64_t call = 0; call < calls; ++call)
    sum += service.sample(random);
  return sum;
}

// Seconds of an item in each stage.
std::vector<double> drawn_seconds(const Pipeline& pipeline, Random& random) {
  std::vector<double> seconds;
  std::int64_t arriving = 1;
  for (const Stage& stage : pipeline.stages) {
    const std::int64_t calls =
        stage.visits < 1 ? random.whole(std::min(most_parts, static_cast<double>(arriving) * stage.visits))
                         : arriving;
    seconds.push_back(calls_seconds(stage.service, calls, random));
    arriving += random.whole(std::min(most_parts, static_cast<double>(calls) * stage.outputs)) - calls;
  }
  return seconds;
}

std::vector<double> recorded_seconds(const std::vector<StageCalls>& item) {
  std::vector<double> seconds;
  for (const StageCalls& calls : item)
    seconds.push_back(std::accumulate(calls.seconds.begin(), calls.seconds.end(), 0.0));
  return seconds;
}

// Asks once for about a hundred thousand stages of items, which take milliseconds.
bool is_stopped_at(std::size_t item, std::size_t stages, const std::function<bool()>& stops) {
  constexpr std::size_t between_questions = 100'000;
  return stops && item % (1 + between_questions / stages) == 0 && stops();
}

}  // namespace

OrderedTail::OrderedTail(const Pipeline& pipeline, int items, const std::function<bool()>& stops) {
  const std::vector<Stage>& stages = pipeline.stages;
  if (std::ranges::none_of(stages.begin() + 1, stages.end(),
                           [](const Stage& stage) { return stage.kind == StageKind::ordered; }))
    return;
  Random random(1);
  for (std::size_t i = 0; i < static_cast<std::size_t>(items); ++i) {
    if (is_stopped_at(i, stages.size(), stops)) return;
    items_ = static_cast<int>(i) + 1;
    const std::vector<double> seconds =
        pipeline.recorded ? recorded_seconds(pipeline.recorded->items[i % pipeline.recorded->items.size()])
                          : drawn_seconds(pipeline, random);
    for (std::size_t s = 0; s < stages.size(); ++s) {
      if (s > 0 && stages[s].is_parallel() && stages[s - 1].is_parallel())
        work_.back().seconds += seconds[s];
      else
        work_.push_back({.seconds = seconds[s], .serial = !stages[s].is_parallel()});
    }
    if (i == 0) segments_ = work_.size();
  }
}

double OrderedTail::slowdown(int threads, int tokens) const {
  if (work_.empty() || threads == 1) return 1;
  const double unhindered = seconds(threads, static_cast<std::size_t>(items_));
  return unhindered > 0 ? seconds(threads, static_cast<std::size_t>(tokens)) / unhindered : 1;
}

int OrderedTail::sufficient_tokens(int threads, double slowdown, int least,
                                   const std::function<bool()>& stops) const {
  if (work_.empty() || threads == 1) return least;
  const double enough = slowdown * seconds(threads, static_cast<std::size_t>(items_), stops);
  const auto tokens = std::views::iota(least, std::max(least, items_));
  const auto first = std::ranges::partition_point(
      tokens, [&](int count) { return seconds(threads, static_cast<std::size_t>(count), stops) > enough; });
  return least + static_cast<int>(first - tokens.begin());
}

double OrderedTail::seconds(int threads, std::size_t tokens, const std::function<bool()>& stops) const {
  std::vector<double> thread_at(static_cast<std::size_t>(threads), 0);  // a heap with the earliest in front
  std::vector<double> serial_at(segments_, 0);
  std::vector<double> left_at(static_cast<std::size_t>(items_));
  for (std::size_t i = 0; i < left_at.size(); ++i) {
    if (is_stopped_at(i, segments_, stops)) return left_at.back();
    const double token_at = i < tokens ? 0 : left_at[i - tokens];
    std::ranges::pop_heap(thread_at, std::greater());
    double now = std::max({thread_at.back(), token_at, serial_at.front()});
    double thread = now;
    for (std::size_t s = 0; s < segments_; ++s) {
      const Work& work = work_[i * segments_ + s];
      if (work.serial) now = std::max(now, serial_at[s]);
      now += work.seconds;
      thread += work.seconds;
      if (work.serial) serial_at[s] = now;
    }
    thread_at.back() = thread;
    std::ranges::push_heap(thread_at, std::greater());
    left_at[i] = i == 0 ? now : std::max(left_at[i - 1], now);
  }
  return left_at.back();
}

}  // namespace millrace::model
