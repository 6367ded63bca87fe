// RunWatcher: shows on a LiveScreen what a run is at.
#pragma once

#include "millrace/cli/run/live_screen.h"
#include "millrace/run/video/video_run.h"
#include "millrace/run/words/run_options.h"

#include <cstdint>
#include <deque>

namespace millrace::cli {

// Used by the thread of the run, which is the process's first. The screen must outlive it.
class RunWatcher {
 public:
  // cpus: that the process may use.
  RunWatcher(LiveScreen& screen, const run::RunOptions& options, int cpus);

  // After a turn of the run; costs next to nothing but ten times a second.
  void look(const run::RunSnapshot& snapshot);

 private:
  void add_sample(report::LiveSample sample);
  // What lies between the samples that are shown.
  void judge();
  void show_search(const image::AdaptiveScheduler& search, const image::Schedule& in_use);

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
