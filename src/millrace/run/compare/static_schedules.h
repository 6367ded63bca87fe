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
  std::vector<CandidateTime> brief;  // of every candidate that was timed, the fastest in front
  double default_share = 0;          // of default_schedule's throughput
  double compile_seconds = 0;
};

// How the best is looked for. Either way the last of them are timed in turns, often.
struct StaticSearch {
  // Every candidate a few frames, the better third more. Otherwise a race by halves (successive halving:
  // Karnin, Koren & Somekh 2013; Jamieson & Talwalkar 2016): every candidate one frame, then again and again
  // the better half for twice as long each. backward-store, which is `backward` and writes what nobody reads,
  // is left out, and where threads are bound and with which instructions they work is asked of the last few
  // only: these scale all schedules about alike.
  bool exhaustive = false;
  double seconds = 10;  // of the halves, about; more where frames take long
};

// Throughput of one schedule over that of another, timed in turns; the kernels of both are there.
[[nodiscard]] Result<double> share_of(image::Executor& executor, const MemoryFrames& frames,
                                      const image::Schedule& schedule, const image::Schedule& other);

// Sets what is computed, and waits for kernels.
[[nodiscard]] Result<BestStatic> best_static(image::Executor& executor, image::KernelLibrary& library,
                                             const image::ScheduleSpace& space,
                                             const image::FrameLayout& layout, const MemoryFrames& frames,
                                             const image::Schedule& default_schedule,
                                             const StaticSearch& search);

}  // namespace millrace::run
