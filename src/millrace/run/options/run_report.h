// Reports the results of a run, for people and for programs.
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

// Results of --measure beyond the record. The record's frames and seconds are sums over all repetitions.
struct MeasuredComputation {
  std::int64_t frames_in_memory = 0;  // processed in every repetition
  std::vector<double> ms_per_frame;   // one per repetition
  InputPixels input_pixels = InputPixels::preloaded;
  std::map<int, std::int64_t> written_on;  // fresh input: frames by the CPU that wrote them
};

struct RunReport {
  std::string pipeline;
  std::string input;
  std::string second;  // second video; empty: none
  std::string output;
  std::vector<std::string> command;  // command line, one word each
  image::Pipeline graph;
  RunRecord record;
  bool explain = false;  // also print what was tried and why
  std::optional<MeasuredComputation> measured;
  std::int64_t peak_rss_bytes = 0;
  std::string ended_early;  // reason; empty: it did not end early
};

[[nodiscard]] std::string to_text(const RunReport& report);
[[nodiscard]] nlohmann::ordered_json to_json(const RunReport& report, const machine::MachineReport& machine);

// Command line of this process.
[[nodiscard]] std::vector<std::string> own_command();

// Peak resident set size of this process so far.
[[nodiscard]] std::int64_t peak_rss_bytes();

}  // namespace millrace::run
