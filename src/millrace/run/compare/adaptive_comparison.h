// How close the adaptive scheduler comes to the best static schedule, and how soon.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/layout/schedule.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/run/compare/static_schedules.h"

#include <cstdint>
#include <optional>
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
  // Of the best static schedule. Unless it is exhaustive, with all threads (any number beside a load) and the
  // best instruction set (with older ones where asked for); the adaptive run may always choose among all.
  StaticSearch search;
  bool older_isas = false;
};

// Seconds of wall time that a case has taken. What is left of the whole is starting and ending.
struct CaseSeconds {
  double compiling = 0;  // what the search for the best static schedule waited for
  double searching = 0;  // without that
  double adapting = 0;   // the adaptive run with what is measured in between
  double second_run = 0;
  double whole = 0;
};

// Times are seconds of the adaptive stream. Shares are of the best static schedule's throughput, which is
// measured anew every quarter of a second (less often where frames take long), so that a machine whose speed
// drifts does so for both.
struct AdaptResult {
  int candidates = 0;                // of the adaptive run
  std::vector<CandidateTime> brief;  // of every static one that was timed, the fastest in front
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
  std::optional<double> race_share;  // of what the race finds, where the search was exhaustive
  std::int64_t trials = 0;
  std::int64_t alarms = 0;  // changes that it noticed in the incumbent's own times
  CaseSeconds took;
};

// Finds the best static schedule, then runs the adaptive scheduler, it and `sequential` in turns. The other
// two take no more than about a third of the time that the adaptive run takes.
[[nodiscard]] Result<AdaptResult> compare_adaptive(const machine::MachineReport& machine,
                                                   const AdaptCase& which);

[[nodiscard]] nlohmann::ordered_json to_json(const AdaptCase& which, const AdaptResult& result);

}  // namespace millrace::run
