// RunDecisions: what a run's schedule search did, and why, as values.
#pragma once

#include "millrace/tuning/record/decision_record.h"
#include "millrace/tuning/space/space.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace millrace::run {

// Not JSON: freeing a half-built JSON value after memory has run out needs memory itself.
struct RunDecisions {
  std::string objective;
  bool from_profile = false;
  std::optional<tuning::Space> space;  // of candidates; nullopt without a search
  std::string incumbent;               // name of the incumbent at the end
  std::string why;                     // why the incumbent runs
  std::string chosen;                  // without a search: why this schedule was chosen
  std::int64_t trials = 0;
  std::int64_t switches = 0;
  // Share of the saved time by which the run gets shorter; nullopt if unknown.
  std::optional<double> bottleneck_share;
  // Seconds.
  double lost_to_trials = 0;
  double switching = 0;
  double deciding = 0;
  double starts_at = 0;  // time of the search's first frame, in seconds from the beginning of the run
  // The last events of the search, and the number of earlier ones left out. Times count from `begin`: the
  // beginning of the run, or of the search if a caller supplies the frames.
  std::vector<tuning::Event> events;
  std::int64_t events_left_out = 0;
  double begin = 0;

  [[nodiscard]] bool searched() const { return space.has_value(); }
};

[[nodiscard]] nlohmann::ordered_json to_json(const RunDecisions& decisions);

}  // namespace millrace::run
