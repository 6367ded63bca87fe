// What the user asked `millrace run` for.
#pragma once

#include "millrace/image/kernel/kernel_cache.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/layout/schedule.h"
#include "millrace/run/video/video_run.h"
#include "millrace/run/words/worker_limit.h"
#include "millrace/video/reader.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace millrace::run {

struct RunOptions {
  std::string pipeline;
  std::string input;
  std::string second;           // the video that the pipeline calls so; empty: none
  std::string output = "null";  // empty: the user gave none
  // Where what is told of the run goes: a path, "-" for standard output, empty for nowhere.
  std::string json;
  std::string report;  // the page
  std::string trace;
  bool live = false;   // on the whole terminal, while it goes on
  bool force = false;  // outputs that exist are overwritten

  // Words of the schedule. With a structure or a tile it is fixed, and what is not given comes from the
  // default schedule; without, it is found while the run goes on, within what is given.
  std::string structure;
  std::string fusion;
  std::string tile;
  std::string affinity;
  std::string isa;
  int threads = 0;           // 0: as many as may be used
  int frames_in_flight = 0;  // 0: one, or as many as turn out best
  bool fresh_threads = false;

  // Of the search for the best schedule.
  std::string objective;  // "throughput", "latency"; empty: by the input
  std::optional<double> deadline_ms;
  bool explain = false;
  bool no_profile = false;
  std::string shared;  // folder of what the machines of a job learn; empty: none
  std::uint64_t seed = 1;

  std::vector<std::string> changes;  // --at
  std::string planes;  // empty: auto, or all where computation is measured or counted as in the paper
  std::string on_damage = "stop";
  std::optional<std::int64_t> frames;
  int loop = 1;
  bool no_audio = false;
  bool no_autorotate = false;
  bool treat_as_progressive = false;
  bool count = false;
  bool measure = false;
  bool fresh_input = false;
  int repeat = 10;
  bool quiet = false;

  std::string format;  // of samples; empty: as the input has them
  std::string start;
  std::string end;

  std::string codec;
  std::optional<int> crf;
  std::string preset;
  std::string bitrate;
  std::vector<std::string> encoder_options;  // "name=value"
  std::optional<int> decoder_threads;        // none: chosen
  std::optional<int> encoder_threads;
};

// The schedule that the words mean; without --threads as many as the affinity arrangement has PUs for. Usage
// error where a word means nothing.
[[nodiscard]] Result<image::Schedule> schedule_of(const RunOptions& options, const WorkerLimit& limit);
// Whether the schedule is to be found while the run goes on.
[[nodiscard]] bool is_adaptive(const RunOptions& options);
// Where compiled kernels are kept. Makes the shared folder. Usage error where that cannot be.
[[nodiscard]] Result<image::KernelCache> kernel_cache_of(const RunOptions& options);
[[nodiscard]] Result<image::Planes> planes_of(const RunOptions& options);
[[nodiscard]] Result<video::OnDamage> on_damage_of(const RunOptions& options);
// "800k", "5M", or bits a second.
[[nodiscard]] Result<std::int64_t> parse_bitrate(const std::string& text);
// "name=value,name=value"
[[nodiscard]] Result<std::vector<std::pair<std::string, std::string>>>
parse_encoder_options(const std::string& text);
// What is left to say: planes, who stops it, who looks at it.
[[nodiscard]] Result<VideoRunOptions>
video_run_options_of(const RunOptions& options, const image::Pipeline& pipeline, const WorkerLimit& limit);

}  // namespace millrace::run
