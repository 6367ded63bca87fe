// RunDecisions: what the search for a schedule did in a run, and why, as values.
#pragma once

#include "millrace/tuning/record/decision_record.h"
#include "millrace/tuning/space/space.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace millrace::run {

// No JSON, of which taking apart what was half made when memory ran out takes memory itself.
struct RunDecisions {
  std::string objective;
  bool from_profile = false;
  std::optional<tuning::Space> space;  // of the candidates; none where nothing was searched
  std::string incumbent;               // at the end, by its name
  std::string why;                     // it runs
  std::string chosen;                  // where nothing was searched: why it was begun with
  std::int64_t trials = 0;
  std::int64_t switches = 0;
  // Of the time saved, what the run would have gained; none where nobody could tell yet.
  std::optional<double> bound_share;
  // Seconds.
  double lost_to_trials = 0;
  double switching = 0;
  double deciding = 0;
  double starts_at = 0;  // of the run, when the search saw its first frame
  // Of the search: the last ones, by a clock whose zero is begin, and how many came before.
  std::vector<tuning::Event> events;
  std::int64_t events_left_out = 0;
  double begin = 0;

  [[nodiscard]] bool searched() const { return space.has_value(); }
};

[[nodiscard]] nlohmann::ordered_json to_json(const RunDecisions& decisions);

}  // namespace millrace::run
