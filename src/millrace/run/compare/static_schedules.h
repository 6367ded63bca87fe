// What a fixed schedule takes, and which one of a space is the best.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/adapt/schedule_space.h"
#include "millrace/image/execute/executor.h"
#include "millrace/run/compare/bench_stream.h"

#include <string>
#include <vector>

namespace millrace::run {

// Seconds a frame. The median is what a schedule can do, the mean what it comes to on this machine.
struct ScheduleTime {
  double median = 0;
  double mean = 0;
};

// Of the schedule in use, in at least `least` batches and `enough` seconds, after one that warms up.
[[nodiscard]] Result<ScheduleTime> time_schedule(image::Executor& executor, const MemoryFrames& frames,
                                                 int least, double enough);

// A candidate of a space as it was measured first, briefly.
struct CandidateTime {
  std::string schedule;
  double ms = 0;  // a frame
};

struct BestStatic {
  image::Schedule schedule;
  std::vector<CandidateTime> brief;  // of every candidate, the fastest in front
  double default_share = 0;          // of default_schedule's throughput
};

// Every candidate a few frames; the better third more; the best twelve in turns, often.
[[nodiscard]] Result<BestStatic> best_static(image::Executor& executor, image::KernelLibrary& library,
                                             const image::ScheduleSpace& space,
                                             const image::FrameLayout& layout, const MemoryFrames& frames,
                                             const image::Schedule& default_schedule);

}  // namespace millrace::run
