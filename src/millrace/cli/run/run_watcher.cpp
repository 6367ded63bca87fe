#include "millrace/cli/run/run_watcher.h"

#include "millrace/base/clock.h"
#include "millrace/base/system_file.h"
#include "millrace/image/adapt/adaptive_scheduler.h"
#include "millrace/placement/task/task_files.h"
#include "millrace/tuning/record/decision_report.h"

#include <algorithm>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace millrace::cli {
namespace {

constexpr std::int64_t interval_ns = 100'000'000;
constexpr double present_seconds = 2;  // what is shown as now is of so long
constexpr std::size_t most_decisions = 50;

// What the kernel tells of the pool's threads, by their names, and of the first thread, which is the last
// worker.
std::vector<std::string> worker_files() {
  std::vector<std::pair<std::string, pid_t>> named;
  for (const pid_t thread : placement::list_threads(getpid())) {
    const auto stat = placement::read_task_stat(getpid(), thread);
    if (stat && stat->name.starts_with("worker-")) named.emplace_back(stat->name, thread);
  }
  // worker-10 behind worker-9.
  std::ranges::sort(named, {}, [](const auto& each) { return std::pair(each.first.size(), each.first); });
  named.emplace_back("", getpid());
  std::vector<std::string> files;
  for (const auto& [name, thread] : named)
    files.push_back(fmt::format("/proc/self/task/{}/schedstat", thread));
  return files;
}

}  // namespace

RunWatcher::RunWatcher(LiveScreen& screen, const run::RunOptions& options)
    : screen_(screen), workers_(worker_files()) {
  shown_.pipeline = options.pipeline;
  shown_.from = options.second.empty() ? options.input : options.input + ", " + options.second;
  shown_.to = options.output;
  shown_.running = "begins";
  shown_.now.workers = worker_times();
  samples_.push_back(shown_.now);
  shown_.earlier = shown_.now;
  screen_.show(shown_);
}

std::vector<double> RunWatcher::worker_times() const {
  std::vector<double> times;
  for (const std::string& file : workers_) {
    const auto text = read_system_file(file);
    const auto run = text ? placement::parse_schedstat(*text) : std::nullopt;
    times.push_back(run ? seconds(run->run_ns) : 0);
  }
  return times;
}

void RunWatcher::look(const run::RunSnapshot& snapshot) {
  const std::int64_t now = now_ns();
  if (now - last_ns_ < interval_ns) return;
  last_ns_ = now;
  samples_.push_back({.at = snapshot.wall_seconds,
                      .frames = snapshot.progress.frames,
                      .computing = snapshot.compute_seconds,
                      .input_wait = snapshot.input_wait_seconds,
                      .output_wait = snapshot.output_wait_seconds,
                      .workers = worker_times()});
  while (samples_.size() > 2 && samples_[1].at < snapshot.wall_seconds - present_seconds)
    samples_.pop_front();
  shown_.earlier = samples_.front();
  shown_.now = samples_.back();
  shown_.total = snapshot.progress.total;
  shown_.running = to_string(snapshot.in_use);
  if (snapshot.search != nullptr) show_search(*snapshot.search, snapshot.in_use);
  screen_.show(shown_);
}

void RunWatcher::show_search(const image::AdaptiveScheduler& search, const image::Schedule& in_use) {
  shown_.incumbent = to_string(search.incumbent());
  if (!search.searches()) {
    shown_.decisions = {"begun with " + shown_.incumbent};
    return;
  }
  const tuning::Tuner& tuner = search.tuner();
  // Both take turns while they are compared.
  if (!tuner.racing())
    shown_.trial.clear();
  else if (in_use != search.incumbent())
    shown_.trial = shown_.running;
  shown_.trials = tuner.record().count(tuning::EventKind::trial);
  shown_.decisions.clear();
  const auto events = tuner.record().events();
  const std::size_t first = events.size() > most_decisions ? events.size() - most_decisions : 0;
  for (std::size_t i = first; i < events.size(); ++i)
    shown_.decisions.push_back(tuning::describe(events[i], search.space().space(), tuner.start_time()));
}

}  // namespace millrace::cli
