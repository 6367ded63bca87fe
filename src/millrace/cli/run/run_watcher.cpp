#include "millrace/cli/run/run_watcher.h"

#include "millrace/base/error/clock.h"
#include "millrace/image/adapt/adaptive_scheduler.h"
#include "millrace/run/video/cpu_use.h"
#include "millrace/run/video/run_record.h"
#include "millrace/tuning/record/decision_report.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace millrace::cli {
namespace {

constexpr std::int64_t interval_ns = 100'000'000;
constexpr double present_seconds = 2;  // averaging interval of the displayed values
constexpr std::size_t most_decisions = 50;

}  // namespace

RunWatcher::RunWatcher(LiveScreen& screen, const run::RunOptions& options, int cpus)
    : screen_(screen), cpus_(cpus) {
  shown_.pipeline = options.pipeline;
  shown_.from = options.second.empty() ? options.input : options.input + ", " + options.second;
  shown_.to = options.output;
  shown_.running = "begins";
  add_sample({});
  screen_.show(shown_);
}

void RunWatcher::add_sample(report::LiveSample sample) {
  for (const run::WorkerTimes& worker : run::worker_times()) {
    sample.workers.push_back(worker.ran);
    sample.waits.push_back(worker.waited);
  }
  samples_.push_back({std::move(sample), run::process_seconds()});
  while (samples_.size() > 2 && samples_[1].shown.at < samples_.back().shown.at - present_seconds)
    samples_.pop_front();
  shown_.earlier = samples_.front().shown;
  shown_.now = samples_.back().shown;
}

void RunWatcher::judge() {
  const report::LiveSample& before = shown_.earlier;
  const report::LiveSample& now = shown_.now;
  switch (run::bottleneck_of({.wall = now.at - before.at,
                              .computing = now.computing - before.computing,
                              .input_wait = now.input_wait - before.input_wait,
                              .output_wait = now.output_wait - before.output_wait})) {
  case run::Bottleneck::input:
    shown_.bottleneck = "decode";
    break;
  case run::Bottleneck::processing:
    shown_.bottleneck = "compute";
    break;
  case run::Bottleneck::output:
    shown_.bottleneck = "encode";
    break;
  case run::Bottleneck::none:
    shown_.bottleneck.clear();
    break;
  }
  run::CpuUse use{.process = samples_.back().process_seconds - samples_.front().process_seconds,
                  .wall = now.at - before.at,
                  .cpus = cpus_};
  for (std::size_t i = 0; i < std::min(now.workers.size(), before.workers.size()); ++i) {
    use.ran += now.workers[i] - before.workers[i];
    use.waited += now.waits[i] - before.waits[i];
  }
  shown_.cpus = run::describe(use);
}

void RunWatcher::look(const run::RunSnapshot& snapshot) {
  const std::int64_t now = now_ns();
  if (now - last_ns_ < interval_ns) return;
  last_ns_ = now;
  add_sample({.at = snapshot.wall_seconds,
              .frames = snapshot.progress.frames,
              .computing = snapshot.compute_seconds,
              .input_wait = snapshot.input_wait_seconds,
              .output_wait = snapshot.output_wait_seconds});
  judge();
  shown_.total = snapshot.progress.total;
  shown_.running = to_string(snapshot.in_use);
  if (snapshot.search != nullptr)
    show_search(*snapshot.search, snapshot.in_use, seconds(now_ns()) - snapshot.wall_seconds);
  screen_.show(shown_);
}

void RunWatcher::show_search(const image::AdaptiveScheduler& search, const image::Schedule& in_use,
                             double start) {
  shown_.incumbent = to_string(search.incumbent());
  if (!search.searches()) {
    shown_.decisions = {"begun with " + shown_.incumbent};
    return;
  }
  const tuning::Tuner& tuner = search.tuner();
  // The two alternate while they are compared.
  if (!tuner.racing())
    shown_.trial.clear();
  else if (in_use != search.incumbent())
    shown_.trial = shown_.running;
  shown_.trials = tuner.record().count(tuning::EventKind::trial);
  shown_.decisions.clear();
  const auto events = tuner.record().events();
  const std::size_t first = events.size() > most_decisions ? events.size() - most_decisions : 0;
  for (std::size_t i = first; i < events.size(); ++i)
    shown_.decisions.push_back(tuning::describe(events[i], search.space().space(), start));
}

}  // namespace millrace::cli
