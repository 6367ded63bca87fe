// How close the adaptive scheduler comes to the best static schedule, and how soon.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/layout/schedule.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/run/compare/static_schedules.h"

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace millrace::run {

// What happens in the middle of the adaptive run.
enum class Disturbance {
  none,
  angle,  // the pipeline's `rotate` goes to 60 degrees (to 6 where it is there already)
  load,   // another process starts to load one core
};

struct AdaptCase {
  std::string pipeline;
  int width = 0;
  int height = 0;
  int threads = 1;
  double seconds = 10;  // of the adaptive run, without what is measured in between
  std::uint64_t seed = 1;
  Disturbance disturbance = Disturbance::none;
};

// Times are seconds of the adaptive stream. Shares are of the best static schedule's throughput, which is
// measured anew every quarter of a second, so that a machine whose speed drifts does so for both.
struct AdaptResult {
  int candidates = 0;
  std::vector<CandidateTime> brief;  // of every candidate, the fastest in front
  image::Schedule best;              // static; after the disturbance, where there is one
  double best_ms = 0;                // a frame
  double sequential_ms = 0;          // the paper's baseline: sequential, nothing fused, all threads
  std::string incumbent;             // of the adaptive run at its end
  double converged_share = 0;        // median over the second half (after a disturbance: over its last third)
  double seconds_to_5 = -1;          // from the start (the disturbance) to within 5 % of the best; -1: never
  std::int64_t frames_to_5 = 0;
  double loss = 0;                // share of the run's time lost against having known the best from the start
  double against_sequential = 0;  // adaptive throughput over the whole run / that of sequential
  double second_run_share = 0;    // of the first 10 frames of a second run that starts from the profile
  double deciding_share = 0;      // of the adaptive stream's time spent on deciding
  double default_share = 0;       // of the schedule that is used where nothing is known
  double reckoned_loss = 0;       // share of the run's time that the scheduler itself says trials have cost
  std::int64_t trials = 0;
  std::int64_t alarms = 0;  // changes that it noticed in the incumbent's own times
};

// Measures every candidate of the space in turn (the slow ones briefly), then runs the adaptive scheduler and
// the best candidate in turns.
[[nodiscard]] Result<AdaptResult> compare_adaptive(const machine::MachineReport& machine,
                                                   const AdaptCase& which);

[[nodiscard]] nlohmann::ordered_json to_json(const AdaptCase& which, const AdaptResult& result);

}  // namespace millrace::run
