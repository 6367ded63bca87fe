// What a run did, for people and for programs.
#pragma once

#include "millrace/image/execute/executor.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/video/frame/frame_reader.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace millrace::cli {

struct RunReport {
  std::string pipeline;
  std::string input;
  std::string output;
  video::FrameFormat input_format;
  video::FrameFormat output_format;
  image::Schedule schedule;
  // What the kernel refused to bind, with what it said; the threads ran unbound instead.
  std::map<machine::AffinityArrangement, std::string> refused_affinities;
  std::int64_t frames = 0;
  video::Losses losses;               // of the input
  std::vector<std::string> not_kept;  // that frames had and the output has no place for
  std::int64_t stand_in_frames = 0;   // unfused, while kernels were compiled or as they could not be
  double wall_seconds = 0;
  double compute_seconds = 0;  // of it spent processing frames; reading and writing overlap the rest
  double first_frame_seconds = 0;
  double compile_seconds = 0;
  std::string
      kernel_error;  // the first reason why a kernel could not be compiled; empty where there was none
  std::size_t intermediate_bytes = 0;
  std::int64_t peak_rss_bytes = 0;
  std::vector<image::StageReport> stages;
  bool from_profile = false;
  nlohmann::ordered_json decisions;  // of the search for the schedule; null where it was fixed
  std::string explanation;           // the same for people, where asked for
  std::vector<double> measured_ms;   // --measure: milliseconds a frame, one for each repetition

  [[nodiscard]] double fps() const {
    return wall_seconds > 0 ? static_cast<double>(frames) / wall_seconds : 0;
  }
};

[[nodiscard]] std::string to_text(const RunReport& report);
[[nodiscard]] nlohmann::ordered_json to_json(const RunReport& report, const machine::MachineReport& machine);

// The largest resident set of this process so far.
[[nodiscard]] std::int64_t peak_rss_bytes();

}  // namespace millrace::cli
