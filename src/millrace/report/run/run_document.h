// RunDocument: the parsed output of `millrace run --json`. Files of earlier versions lack parts, and people
// may have edited others.
#pragma once

#include "millrace/base/error/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace millrace::report {

// One stage, or stages fused into one kernel, on one plane.
struct StageOfRun {
  std::string stages;  // "blur+sobel_x"
  // The graph nodes that they belong to. Records of earlier versions lack them.
  std::optional<std::vector<std::size_t>> nodes;
  int plane = 0;
  std::optional<double> cpu_ms_per_frame;
  double pixels_computed = 0;
  double pixels_required = 0;
};

// A filter of the pipeline with the earlier ones that it reads. -1: the input, -2: the second input.
struct NodeOfRun {
  std::string name;
  std::vector<int> inputs;
};

// One decision: see tuning::to_json().
struct EventOfRun {
  double time = 0;  // seconds from the start of the run
  std::string kind;
  std::string candidate;
  std::string against;
  std::int64_t frames = 0;
  double ratio = 1;
  double low = 1;
  double high = 1;
  bool compared = false;  // ratio, low and high come from a measurement
  std::string chosen;
  std::string verdict;
};

// Several consecutive iterations of the loop. Milliseconds per frame.
struct TurnsOfRun {
  double at = 0;  // seconds from the start of the run to their end
  double computing = 0;
  double input_wait = 0;
  double output_wait = 0;
  double slowest = 0;  // maximum of computing
};

// A kernel call of a worker for one frame. group: stages fused into one kernel.
struct CallOfRun {
  int worker = 0;
  int group = 0;
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  double start_us = 0;
  double end_us = 0;
};
// Time that a worker spent on a plane other than the first.
struct SpanOfRun {
  int worker = 0;
  int plane = 0;
  double start_us = 0;
  double end_us = 0;
};
struct GroupOfRun {
  std::string stages;
  int plane = 0;
  int width = 0;
  int height = 0;
};
struct RecordedFrameOfRun {
  std::int64_t frame = 0;
  std::string schedule;
  std::string structure;
  int threads = 1;
  std::vector<GroupOfRun> groups;
  std::vector<CallOfRun> calls;  // of the first plane
  std::vector<SpanOfRun> other_planes;
  std::int64_t calls_left_out = 0;
};

struct PictureOfRun {
  int width = 0;
  int height = 0;
  std::string data;  // "data:image/jpeg;base64,..."
};

struct RunDocument {
  std::string name;  // of the file, for people
  std::string pipeline;
  std::string input;
  std::string second;  // second input; empty: none
  std::string output;
  std::vector<std::string> command;  // as separate words
  std::string input_format;
  std::string output_format;
  std::int64_t frames = 0;
  double fps = 0;
  double wall_seconds = 0;
  double compute_seconds = 0;
  double input_wait_seconds = 0;
  double output_wait_seconds = 0;
  double first_frame_seconds = 0;
  double compile_seconds = 0;
  double peak_rss_bytes = 0;
  std::string bound_by;     // "input", "filters", "output" or "none"; empty: written by an earlier version
  double cpu_wait = 0;      // share of the workers' busy time spent waiting for a CPU
  std::string ended_early;  // the reason; empty: it did not
  std::string codec;        // of the output; empty: none
  double output_bytes = 0;  // 0: unknown
  int threads = 1;          // workers, by the last schedule
  bool output_complete = true;
  std::vector<std::string> not_kept;
  std::int64_t left_out = 0;  // frames
  std::string structure;
  std::string schedule;                     // for people
  std::vector<std::string> schedule_words;  // options that select it
  std::vector<NodeOfRun> nodes;
  std::vector<StageOfRun> stages;
  bool searched = false;
  bool from_profile = false;
  std::string why;
  std::int64_t trials = 0;
  double seconds_lost = 0;
  std::vector<EventOfRun> events;
  std::vector<TurnsOfRun> turns;
  std::vector<RecordedFrameOfRun> recorded;  // the last one by the final schedule
  std::optional<PictureOfRun> before;
  std::optional<PictureOfRun> after;
  std::string processor;
  std::string kernel;
  std::string caches;
  int cores = 0;
  std::vector<std::string> trust;  // uncertainties about the machine
};

// Fails with an error that calls the record `name` if it is not of a run.
[[nodiscard]] Result<RunDocument> read_run_document(const nlohmann::json& json, std::string name);

}  // namespace millrace::report
