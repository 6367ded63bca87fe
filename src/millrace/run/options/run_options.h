// RunOptions: the options of `millrace run`.
#pragma once

#include "millrace/image/kernel/kernel_cache.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/layout/schedule.h"
#include "millrace/run/options/worker_limit.h"
#include "millrace/run/video/video_run.h"
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
  std::string second;           // the pipeline's second video; empty: none
  std::string output = "null";  // empty: not given
  // Destinations of the run's reports: a path, "-" for standard output, empty for none.
  std::string json;
  std::string report;  // the HTML page
  std::string trace;
  bool live = false;   // live display on the whole terminal
  bool force = false;  // overwrite existing outputs

  // Options of the schedule. With a structure or a tile the schedule is fixed, and the default schedule
  // supplies the rest. Otherwise the schedule is searched during the run, within these options.
  std::string structure;
  std::string fusion;
  std::string tile;
  std::string affinity;
  std::string isa;
  int threads = 0;           // 0: as many as may be used
  int frames_in_flight = 0;  // 0: one, or the best number found
  bool fresh_threads = false;

  // Options of the schedule search.
  std::string objective;  // "throughput", "latency"; empty: depends on the input
  std::optional<double> deadline_ms;
  bool explain = false;
  bool no_profile = false;
  std::string shared;  // folder with profiles shared by the machines of a job; empty: none
  std::uint64_t seed = 1;

  std::vector<std::string> changes;  // --at
  std::string planes;  // empty: auto, or all if computation is measured or counted as in the paper
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

  std::string format;  // sample format; empty: that of the input
  std::string start;
  std::string end;

  std::string codec;
  std::optional<int> crf;
  std::string preset;
  std::string bitrate;
  std::vector<std::string> encoder_options;  // "name=value"
  std::optional<int> decoder_threads;        // nullopt: chosen automatically
  std::optional<int> encoder_threads;
};

// The fixed schedule. Without --threads it has one thread per PU of the affinity arrangement. Usage error for
// an unknown word.
[[nodiscard]] Result<image::Schedule> schedule_of(const RunOptions& options, const WorkerLimit& limit);
// Whether the schedule is searched during the run.
[[nodiscard]] bool is_adaptive(const RunOptions& options);
// Location of compiled kernels. Creates the shared folder; usage error if that fails.
[[nodiscard]] Result<image::KernelCache> kernel_cache_of(const RunOptions& options);
[[nodiscard]] Result<image::Planes> planes_of(const RunOptions& options);
[[nodiscard]] Result<video::OnDamage> on_damage_of(const RunOptions& options);
// "800k", "5M", or bits per second.
[[nodiscard]] Result<std::int64_t> parse_bitrate(const std::string& text);
// "name=value,name=value"
[[nodiscard]] Result<std::vector<std::pair<std::string, std::string>>>
parse_encoder_options(const std::string& text);
// The caller still sets planes, stop and progress callbacks.
[[nodiscard]] Result<VideoRunOptions>
video_run_options_of(const RunOptions& options, const image::Pipeline& pipeline, const WorkerLimit& limit);

}  // namespace millrace::run
