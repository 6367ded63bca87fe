// Measures how close the adaptive scheduler comes to the best static schedule, and how soon.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/image/layout/schedule.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/run/compare/static_schedules.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace millrace::run {

// A change in the middle of the adaptive run.
enum class Disturbance {
  none,
  angle,  // the pipeline's `rotate` goes to 60 degrees (to 6 if it is 60 already)
  load,   // another process starts to load one core
};

struct AdaptCase {
  std::string pipeline;
  int width = 0;
  int height = 0;
  int threads = 1;
  double seconds = 10;  // of the adaptive run, without the measurements in between
  std::uint64_t seed = 1;
  Disturbance disturbance = Disturbance::none;
  // Search for the best static schedule. Unless exhaustive, it uses all threads (any number if there is a
  // load) and the best instruction set (older ones if requested). The adaptive run always chooses among all.
  StaticSearch search;
  bool older_isas = false;
};

// Wall time of a case in seconds. The rest of `whole` is starting and ending.
struct CaseSeconds {
  double compiling = 0;  // waits of the search for the best static schedule
  double searching = 0;  // without compiling
  double adapting = 0;   // the adaptive run and the measurements in between
  double second_run = 0;
  double whole = 0;
};

// Times are seconds of the adaptive stream. Shares are relative to the throughput of the best static
// schedule. That is measured anew every quarter of a second (less often if frames take long), so that
// drifting machine speed affects both alike.
struct AdaptResult {
  int candidates = 0;                // of the adaptive run
  std::vector<CandidateTime> brief;  // all static schedules that were timed, fastest first
  image::Schedule best;              // best static schedule; after the disturbance, if there is one
  double best_ms = 0;                // per frame
  double sequential_ms = 0;          // the paper's baseline: sequential, unfused, all threads
  std::string incumbent;             // of the adaptive run at its end
  double converged_share = 0;        // median over the second half (with a disturbance: over the last third)
  double seconds_to_5 = -1;          // from the start (or the disturbance) to within 5 % of the best; -1:
                                     // never
  std::int64_t frames_to_5 = 0;
  double loss = 0;                // share of the run's time lost compared with knowing the best from the
                                  // start
  double against_sequential = 0;  // adaptive throughput over the whole run / that of sequential
  double second_run_share = 0;    // first 10 frames of a second run that starts from the profile
  double deciding_share = 0;      // share of the adaptive stream's time spent on deciding
  double default_share = 0;       // of the default schedule, which is used if nothing is known
  double reckoned_loss = 0;       // the scheduler's own estimate of the share of time that trials have cost
  std::optional<double> race_share;  // of the race's winner, if the search was exhaustive
  std::int64_t trials = 0;
  std::int64_t alarms = 0;  // changes detected in the incumbent's own times
  CaseSeconds took;
};

// Finds the best static schedule, then interleaves the adaptive run with it and with `sequential`. These two
// take at most about a third of the adaptive run's time.
[[nodiscard]] Result<AdaptResult> compare_adaptive(const machine::MachineReport& machine,
                                                   const AdaptCase& which);

[[nodiscard]] nlohmann::ordered_json to_json(const AdaptCase& which, const AdaptResult& result);

}  // namespace millrace::run
