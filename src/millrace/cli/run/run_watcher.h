// RunWatcher: shows the progress of a run on a LiveScreen.
#pragma once

#include "millrace/cli/run/live_screen.h"
#include "millrace/run/options/run_options.h"
#include "millrace/run/video/video_run.h"

#include <cstdint>
#include <deque>

namespace millrace::cli {

// Used by the run's thread, which is the first of the process. The screen must outlive it.
class RunWatcher {
 public:
  // cpus: number of CPUs that the process may use.
  RunWatcher(LiveScreen& screen, const run::RunOptions& options, int cpus);

  // Call it after each batch of frames. It does real work only ten times a second.
  void look(const run::RunSnapshot& snapshot);

 private:
  void add_sample(report::LiveSample sample);
  // Computes the figures between the first and the last sample.
  void judge();
  void show_search(const image::AdaptiveScheduler& search, const image::Schedule& in_use, double start);

  LiveScreen& screen_;
  int cpus_;
  std::int64_t last_ns_ = 0;
  struct Sample {
    report::LiveSample shown;
    double process_seconds = 0;  // CPU time
  };
  std::deque<Sample> samples_;  // of the last seconds
  report::LiveRun shown_;
};

}  // namespace millrace::cli
