// RunWatcher: shows on a LiveScreen what a run is at.
#pragma once

#include "millrace/cli/run/live_screen.h"
#include "millrace/run/video/video_run.h"
#include "millrace/run/words/run_options.h"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace millrace::cli {

// Used by the thread of the run, which is the process's first. The screen must outlive it.
class RunWatcher {
 public:
  // After the pool was made, whose workers it looks for.
  RunWatcher(LiveScreen& screen, const run::RunOptions& options);

  // After a turn of the run; costs next to nothing but ten times a second.
  void look(const run::RunSnapshot& snapshot);

 private:
  // Seconds that each has run.
  [[nodiscard]] std::vector<double> worker_times() const;
  void show_search(const image::AdaptiveScheduler& search, const image::Schedule& in_use);

  LiveScreen& screen_;
  std::vector<std::string> workers_;  // below /proc
  std::int64_t last_ns_ = 0;
  std::deque<report::LiveSample> samples_;  // of the last seconds
  report::LiveRun shown_;
};

}  // namespace millrace::cli
