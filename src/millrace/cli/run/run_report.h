// What a run did, for people and for programs.
#pragma once

#include "millrace/machine/report/machine_report.h"
#include "millrace/run/run_record.h"

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace millrace::cli {

struct RunReport {
  std::string pipeline;
  std::string input;
  std::string output;
  run::RunRecord record;
  bool explain = false;             // to people: what was tried and why
  std::vector<double> measured_ms;  // --measure: milliseconds a frame, one for each repetition
  std::int64_t peak_rss_bytes = 0;
};

[[nodiscard]] std::string to_text(const RunReport& report);
[[nodiscard]] nlohmann::ordered_json to_json(const RunReport& report, const machine::MachineReport& machine);

// The largest resident set of this process so far.
[[nodiscard]] std::int64_t peak_rss_bytes();

}  // namespace millrace::cli
