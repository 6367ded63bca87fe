#include "millrace/cli/study/measure_x264.h"

#include "millrace/base/options/progress_line.h"
#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/cli/study/made_inputs.h"
#include "millrace/cli/study/made_streams.h"
#include "millrace/cli/study/program_run.h"
#include "millrace/report/study/turn_order.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace millrace::cli {
namespace {

using report::EncoderClass;
using report::EncoderClip;
using report::EncoderSetting;

constexpr int cpus_of_report = 4;
constexpr std::int64_t long_slice_ns = 10'000'000;

machine::SchedulingChange change_to(EncoderClass scheduling_class) {
  using machine::SchedulingClass;
  switch (scheduling_class) {
  case EncoderClass::other:
    return {};
  case EncoderClass::other_long_slice:
    return {.slice_ns = long_slice_ns};
  case EncoderClass::batch:
    return {.scheduling_class = SchedulingClass::batch};
  case EncoderClass::batch_long_slice:
    return {.scheduling_class = SchedulingClass::batch, .slice_ns = long_slice_ns};
  case EncoderClass::rr:
    return {.scheduling_class = SchedulingClass::rr};
  case EncoderClass::fifo:
    return {.scheduling_class = SchedulingClass::fifo};
  }
  return {};
}

// "encoded 300 frames, 325.49 fps, 1024.00 kb/s"
struct Encoded {
  std::int64_t frames = 0;
  double fps = 0;
};
std::optional<Encoded> encoded_of(std::string_view text) {
  constexpr std::string_view begin = "encoded ";
  constexpr std::string_view between = " frames, ";
  const std::size_t at = text.rfind(begin);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(at + begin.size());
  const std::size_t gap = rest.find(between);
  if (gap == std::string_view::npos) return std::nullopt;
  const auto frames = parse_number<std::int64_t>(rest.substr(0, gap));
  rest.remove_prefix(gap + between.size());
  const auto fps = parse_number<double>(rest.substr(0, rest.find(' ')));
  if (!frames || !fps || *frames < 1 || !(*fps > 0)) return std::nullopt;
  return Encoded{*frames, *fps};
}

}  // namespace

Result<report::EncoderObservations> measure_x264(const EncoderRequest& request,
                                                 const machine::MachineReport& machine,
                                                 const Interrupt& interrupt) {
  if (!request.clips.empty() && request.clips.size() != 2)
    return usage_error(
        "the x264 study needs two clips, a small and a large one; give both to --clips, or neither");
  if (!is_installed("x264"))
    return usage_error("the study of x264 needs that program: install it (Debian: apt install x264)");
  const auto scratch = ScratchFolder::make();
  if (!scratch) return std::unexpected(scratch.error());
  report::EncoderObservations observed;
  machine::CpuSet cpus;
  for (const int cpu : machine.usable.cpus)
    if (std::cmp_less(cpus.count(), cpus_of_report)) cpus.insert(cpu);
  observed.cpus = cpus.count();
  std::array<std::string, 2> clips;
  if (request.clips.empty()) {
    const std::array<ClipSize, 2> sizes = request.quick
                                              ? std::array<ClipSize, 2>{{{96, 64, 8}, {128, 96, 8}}}
                                              : std::array<ClipSize, 2>{{{720, 480, 300}, {1280, 720, 120}}};
    for (std::size_t i = 0; i < clips.size(); ++i) {
      clips[i] = scratch->path() / fmt::format("{}.y4m", i);
      if (Status made = make_clip(clips[i], sizes[i]); !made) return std::unexpected(made.error());
    }
    observed.clips = fmt::format("made, {}x{} and {}x{}", sizes[0].width, sizes[0].height, sizes[1].width,
                                 sizes[1].height);
  } else {
    std::ranges::copy(request.clips, clips.begin());
    observed.clips = fmt::format("{} and {}", in_quotes(clips[0]), in_quotes(clips[1]));
  }

  const auto settings = report::encoder_settings(request.quick);
  ProgressLine progress(request.progress, {.plural = "runs"});
  std::int64_t done = 0;
  for (int run = 0; run < request.runs; ++run) {
    for (std::size_t i = 0; i < settings.size(); ++i) {
      const std::size_t turn = report::whose_turn(i, run, settings.size());
      const EncoderSetting& setting = settings[turn];
      if (observed.missing.contains(setting.scheduling_class)) continue;
      progress.update(++done, std::ssize(settings) * request.runs, report::name_of(setting.scheduling_class));
      const auto ended = run_program(
          {"x264", "--preset", "superfast", "--tune", "zerolatency", "--threads",
           std::to_string(setting.threads), "--lookahead-threads", std::to_string(setting.lookahead),
           "--no-progress", "-o", "/dev/null", clips[setting.clip == EncoderClip::sd ? 0 : 1]},
          {.cpus = cpus, .scheduling = change_to(setting.scheduling_class), .watch_waiting = true},
          scratch->path(), interrupt);
      if (!ended && ended.error().kind == ErrorKind::usage) {
        observed.missing[setting.scheduling_class] = ended.error().message;
        continue;
      }
      if (!ended) return std::unexpected(ended.error());
      const auto encoded = encoded_of(ended->errors);
      if (!encoded) return failure("x264 does not say how many frames it encoded a second");
      report::EncoderRuns& runs = observed.runs[setting];
      const auto frames = static_cast<double>(encoded->frames);
      runs.fps.push_back(encoded->fps);
      runs.switches.push_back(static_cast<double>(ended->switches) / frames);
      runs.waiting_ms.push_back(1e3 * ended->waiting_seconds / frames);
    }
  }
  progress.clear();
  return observed;
}

}  // namespace millrace::cli
