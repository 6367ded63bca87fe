// What a run did, for people and for programs.
#pragma once

#include "millrace/image/pipeline/pipeline.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/run/video/computation.h"
#include "millrace/run/video/run_record.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace millrace::run {

// Of --measure, beside what the record has: frames and seconds there are those of all repetitions together.
struct MeasuredComputation {
  std::int64_t frames_in_memory = 0;  // processed in every repetition
  std::vector<double> ms_per_frame;   // one for each repetition
  InputPixels input_pixels = InputPixels::preloaded;
  std::map<int, std::int64_t> written_on;  // fresh input: frames by the CPU that wrote them
};

struct RunReport {
  std::string pipeline;
  std::string input;
  std::string second;  // video beside it; empty: none
  std::string output;
  std::vector<std::string> command;  // its words, as they were given
  image::Pipeline graph;
  RunRecord record;
  bool explain = false;  // to people: what was tried and why
  std::optional<MeasuredComputation> measured;
  std::int64_t peak_rss_bytes = 0;
  std::string ended_early;  // why; empty: it did not
};

[[nodiscard]] std::string to_text(const RunReport& report);
[[nodiscard]] nlohmann::ordered_json to_json(const RunReport& report, const machine::MachineReport& machine);

// The words that this process was started with.
[[nodiscard]] std::vector<std::string> own_command();

// The largest resident set of this process so far.
[[nodiscard]] std::int64_t peak_rss_bytes();

}  // namespace millrace::run
