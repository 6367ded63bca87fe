// Times fixed schedules and finds the best one of a search space.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/image/adapt/schedule_space.h"
#include "millrace/image/execute/executor.h"
#include "millrace/run/compare/bench_stream.h"

#include <string>
#include <vector>

namespace millrace::run {

// Seconds per frame. The median shows what the schedule can do, the mean what it achieves on this machine.
struct ScheduleTime {
  double median = 0;
  double mean = 0;
};

// Times the current schedule for at least `least` batches and `enough` seconds, after a warm-up batch.
[[nodiscard]] Result<ScheduleTime> time_schedule(image::Executor& executor, const MemoryFrames& frames,
                                                 int least, double enough);

// A candidate and its first, brief measurement.
struct CandidateTime {
  std::string schedule;
  double ms = 0;  // per frame
};

struct BestStatic {
  image::Schedule schedule;
  std::vector<CandidateTime> brief;  // all candidates that were timed, fastest first
  double default_share = 0;          // relative throughput of default_schedule
  double compile_seconds = 0;
};

// How to search for the best schedule. In both modes the last few candidates are timed often, in turns.
struct StaticSearch {
  // true: times every candidate for a few frames, and the better third for longer.
  //
  // false: a race by successive halving (Karnin, Koren & Somekh 2013; Jamieson & Talwalkar 2016). Every
  // candidate runs one frame, then repeatedly the better half runs twice as long. backward-store is left out,
  // because it is `backward` with additional unused stores. Affinity and instruction set are varied only for
  // the last few candidates, because they scale all schedules about equally.
  bool exhaustive = false;
  double seconds = 10;  // of the race, roughly; longer if frames take long
};

// Throughput of one schedule relative to another, timed in turns. The kernels of both must be compiled.
[[nodiscard]] Result<double> share_of(image::Executor& executor, const MemoryFrames& frames,
                                      const image::Schedule& schedule, const image::Schedule& other);

// Sets what is computed, and waits for kernels.
[[nodiscard]] Result<BestStatic> best_static(image::Executor& executor, image::KernelLibrary& library,
                                             const image::ScheduleSpace& space,
                                             const image::FrameLayout& layout, const MemoryFrames& frames,
                                             const image::Schedule& default_schedule,
                                             const StaticSearch& search);

}  // namespace millrace::run
