// Options that the verbs for video share: `run`, `batch`, `plan`, `cut`.
#pragma once

#include "millrace/cli/command/command.h"
#include "millrace/image/filters/named_filters.h"
#include "millrace/image/layout/schedule.h"
#include "millrace/image/pipeline/presets.h"
#include "millrace/machine/processor/isa.h"
#include "millrace/run/options/run_options.h"

#include <cstdint>

namespace millrace::cli {

inline constexpr const char* pipeline_help =
    "Filters in the pipeline language ('blur | sobel_x'), a preset (@A to @G), or a .toml file";
inline constexpr const char* no_profile_help = "Neither use nor store schedules and kernels of other runs";
inline constexpr const char* shared_help =
    "Folder through which the machines of a job share schedules and kernels";
inline constexpr const char* worker_threads_default = "one for each usable CPU";
inline constexpr const char* json_report_help = "Write a report to a file, or - for standard output";

// What shell completion offers for a pipeline.
[[nodiscard]] inline OptionWords pipeline_words() {
  OptionWords words;
  for (const image::Filter& filter : image::all_filters())
    words.emplace_back(filter.name);
  for (const image::Preset& preset : image::presets())
    words.emplace_back(preset.name);
  return words;
}

// The first three belong to the options that most people need first. The others begin the group "Encoding".
inline void add_encoding_options(CLI::App& verb, run::RunOptions& o) {
  verb.add_option("--codec", o.codec, "Codec")
      ->option_text("NAME")
      ->check(one_of({"h264", "h265", "av1", "vp9", "ffv1", "prores", "gif", "rawvideo"}, {"hevc"}))
      ->default_str("h264; vp9 for .webm");
  // The writer knows the range of each codec.
  verb.add_option("--crf", o.crf,
                  "Constant quality; smaller is better: 0 to 51 (h264, h265), 0 to 63 (av1, vp9)");
  verb.add_option(
          "--preset", o.preset,
          "Encoder preset: ultrafast to placebo (h264, h265), 0 to 13 (av1), 0 to 8 (vp9), proxy to 4444xq "
          "(prores)")
      ->option_text("NAME")
      ->check(suggest({"ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower",
                       "veryslow", "placebo"}));
  begin_group(verb, "Encoding");
  verb.add_option("--bitrate", o.bitrate, "Bits per second, such as 800k or 5M, instead of --crf")
      ->option_text("RATE");
  verb.add_option("--encoder-options", o.encoder_options, "Options of FFmpeg's encoder; can be repeated")
      ->option_text("NAME=VALUE,...")
      ->take_all();
  verb.add_option("--format", o.format, "Sample format of the output, such as yuv420p, nv12 or rgb24")
      ->option_text("NAME")
      ->check(suggest({"gray", "gray16", "yuv420p", "yuv420p10", "yuv420p16", "yuv422p", "yuv422p10",
                       "yuv444p", "yuv444p10", "yuv444p16", "nv12", "p010", "rgb24", "rgb48", "gbrp",
                       "gbrp10", "gbrp12", "gbrp16"}))
      ->default_str("as the input");
}

inline void add_encoder_threads(CLI::App& verb, run::RunOptions& o, const char* usual) {
  verb.add_option("--encoder-threads", o.encoder_threads, "Threads of the encoder")
      ->check(between(1, 256))
      ->default_str(usual);
}

inline void add_planes(CLI::App& verb, run::RunOptions& o, const char* usual = "auto") {
  verb.add_option("--planes", o.planes,
                  "Planes that filters process. auto: each filter decides about chroma (see `millrace "
                  "filters`); all: "
                  "chroma as luma; luma: chroma only by geometric filters")
      ->option_text("NAME")
      ->check(one_of_many({"auto", "all", "luma"}))
      ->default_str(usual);
}

inline void add_input_flags(CLI::App& verb, run::RunOptions& o) {
  verb.add_flag("--no-audio", o.no_audio, "Leave out the sound");
  verb.add_flag("--no-autorotate", o.no_autorotate,
                "Process frames as they are stored, and pass the rotation tag to the output");
  verb.add_flag("--treat-as-progressive", o.treat_as_progressive, "Ignore the interlaced flag of the input");
}

inline void add_structure_options(CLI::App& verb, run::RunOptions& o) {
  verb.add_option("--structure", o.structure, "Execution structure")
      ->option_text("NAME")
      ->check(one_of(names_of(image::all_structures())))
      ->default_str("searched during the run");
  verb.add_option("--fusion", o.fusion, "Stages that are fused to one kernel")
      ->option_text("NAME")
      ->check(one_of(names_of(image::all_fusions())))
      ->default_str("searched during the run");
  verb.add_option("--tile", o.tile,
                  "Size of a tile (of a granule for backward-cached); 0 stands for the whole side")
      ->option_text("WIDTHxHEIGHT");
  verb.add_option("--isa", o.isa, "Instruction set")
      ->option_text("NAME")
      ->check(one_of(names_of(machine::all_isas())))
      ->default_str("the best of this processor");
}

inline void add_change_option(CLI::App& verb, run::RunOptions& o) {
  verb.add_option(
          "--at", o.changes,
          "Change a parameter from this frame on; FROM..TO moves it there in equal steps; can be repeated")
      ->option_text("FRAME:STAGE.PARAMETER=VALUE")
      ->take_all();
}

inline void add_part_options(CLI::App& verb, run::RunOptions& o) {
  verb.add_option("--start", o.start, "Begin at this time, such as 12.5 or 0:01:30.25")->option_text("TIME");
  verb.add_option("--end", o.end, "Stop before this time")->option_text("TIME");
  verb.add_option("--frames", o.frames, "Stop after N frames")
      ->check(between(std::int64_t{1}, std::int64_t{1} << 40));
  verb.add_option("--loop", o.loop, "Play the input N times")->check(between(1, 1 << 30));
}

inline void add_damage_option(CLI::App& verb, run::RunOptions& o) {
  verb.add_option(
          "--on-damage", o.on_damage,
          "Reaction to damaged frames. stop: fail after the last good frame; skip: leave them out and report "
          "how many are missing")
      ->option_text("NAME")
      ->check(one_of_many({"stop", "skip"}))
      ->default_str("stop");
}

}  // namespace millrace::cli
