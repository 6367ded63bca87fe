#include "millrace/cli/study/measure_study.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/options/progress_line.h"
#include "millrace/image/pipeline/presets.h"
#include "millrace/report/study/turn_order.h"
#include "millrace/run/options/check_threads.h"
#include "millrace/run/video/computation.h"
#include "millrace/video/reader.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace millrace::cli {
namespace {

using report::CaseTimes;
using report::StudyGroup;
using report::StudyInput;

// Frames of the small and the large clip per run: some milliseconds of work.
constexpr std::int64_t small_frames = 24;
constexpr std::int64_t large_frames = 6;
constexpr std::int64_t quick_frames = 2;

// For the map: about as many pixels per run as an HD frame has, in at most 64 frames.
std::int64_t frames_of(const video::FrameFormat& format) {
  return std::clamp<std::int64_t>(std::int64_t{1920} * 1080 / (std::int64_t{format.width} * format.height), 1,
                                  64);
}

std::string generated_name(std::string_view place, bool quick) {
  if (place == report::foreman) return quick ? "test:96x72@2" : fmt::format("test:352x288@{}", small_frames);
  return quick ? "test:192x108@2" : fmt::format("test:1920x1080@{}", large_frames);
}

std::unexpected<Error> interrupted() {
  return std::unexpected(Error{ErrorKind::interrupted, "interrupted; nothing was written"});
}

class StudyMeasurement {
 public:
  StudyMeasurement(const StudyRequest& request, const Interrupt& interrupt,
                   const machine::MachineReport& machine)
      : request_(request), interrupt_(interrupt), machine_(machine),
        progress_(request.progress, {.plural = "settings"}) {
    result_.figures = request.figures;
    result_.quick = request.quick;
    result_.runs = request.runs;
    report::describe_machine(result_, machine, request.threads.value_or(machine.usable.worker_limit));
  }

  [[nodiscard]] Result<report::StudyResult> measure() {
    const std::int64_t start = now_ns();
    const auto groups = report::groups_of(request_.figures, result_.machine, request_.quick);
    for (const StudyGroup& group : groups)
      total_ += std::ssize(group.schedules) * request_.runs;
    if (Status named = name_inputs(); !named) return std::unexpected(named.error());
    auto context = run::ExecutionContext::make(machine_, result_.machine.threads,
                                               image::KernelCache(image::default_kernel_cache_folder()));
    if (!context) return std::unexpected(context.error());
    for (const StudyGroup& group : groups) {
      if (Status done = measure_group(**context, group); !done) return std::unexpected(done.error());
    }
    progress_.clear();
    result_.seconds = seconds(now_ns() - start);
    return std::move(result_);
  }

 private:
  struct Clip {
    StudyInput input;
    std::vector<video::Frame> frames;
  };

  // Assigns the user's clips to the paper's clips.
  [[nodiscard]] Status name_inputs() {
    std::vector<image::Size> sizes;
    for (const std::string& name : request_.inputs) {
      const auto reader = video::open_reader(name, {.stop = interrupt_.token()});
      if (!reader) return std::unexpected(reader.error());
      sizes.push_back({(*reader)->format().width, (*reader)->format().height});
    }
    const auto places = report::places_of(sizes);
    if (!places) return std::unexpected(places.error());
    for (const auto& [place, index] : *places)
      given_[std::string(place)] = request_.inputs[index];
    return {};
  }

  [[nodiscard]] Result<Clip> read_clip(const std::string& key) const {
    Clip clip;
    clip.input.key = key;
    const bool of_paper = key == report::foreman || key == report::tractor;
    const auto given = given_.find(key);
    clip.input.generated = given == given_.end();
    clip.input.name = !clip.input.generated ? given->second
                      : of_paper            ? generated_name(key, request_.quick)
                                            : key;
    auto reader = video::open_reader(clip.input.name, {.stop = interrupt_.token()});
    if (!reader) return std::unexpected(reader.error());
    const video::FrameFormat& format = (*reader)->format();
    clip.input.format = video::to_string(format);
    clip.input.frames = request_.frames          ? *request_.frames
                        : request_.quick         ? quick_frames
                        : !of_paper              ? frames_of(format)
                        : key == report::foreman ? small_frames
                                                 : large_frames;
    auto frames = run::read_frames(**reader, clip.input.frames, clip.input.name, run::InputPixels::fresh);
    if (!frames) return std::unexpected(frames.error());
    clip.frames = std::move(*frames);
    return clip;
  }

  // Reuses the clip of the previous group if it is the same.
  [[nodiscard]] Status load_clip(const std::string& key) {
    if (clip_ && clip_->input.key == key) return {};
    auto clip = read_clip(key);
    if (!clip) return std::unexpected(clip.error());
    clip_ = std::make_unique<Clip>(std::move(*clip));
    if (std::ranges::find(result_.inputs, key, &StudyInput::key) == result_.inputs.end())
      result_.inputs.push_back(clip_->input);
    return {};
  }

  // Why a schedule is impossible on this machine; empty if it is possible.
  [[nodiscard]] std::string impossible(const image::Schedule& schedule) const {
    if (schedule.affinity == machine::AffinityArrangement::free) return "";
    const auto plan = machine::arrange(machine_.topology, machine_.usable.cpus,
                                       {.arrangement = schedule.affinity, .workers = schedule.threads});
    return plan ? "" : plan.error().message;
  }

  [[nodiscard]] Status measure_group(run::ExecutionContext& context, const StudyGroup& group) {
    if (Status loaded = load_clip(group.input); !loaded) return loaded;
    const auto pipeline = image::load_pipeline(group.pipeline);
    if (!pipeline) return std::unexpected(pipeline.error());
    auto layout = image::lay_out_frame(*pipeline, clip_->frames.front().format(), image::Planes::all,
                                       image::Samples::floats);
    if (!layout) return std::unexpected(layout.error());
    std::vector<CaseTimes> cases;
    for (const image::Schedule& schedule : group.schedules)
      cases.push_back({.which = {group.pipeline, group.input, schedule}, .missing = impossible(schedule)});
    run::Computation computation(context, clip_->frames, std::move(*layout), run::InputPixels::fresh);
    for (int run = 0; run < request_.runs; ++run) {
      for (std::size_t i = 0; i < cases.size(); ++i) {
        const std::size_t turn = report::whose_turn(i, run, cases.size());
        if (interrupt_.requested()) return interrupted();
        progress_.update(++done_, total_, fmt::format("{} on {}", group.pipeline, group.input));
        if (Status measured = measure_turn(computation, cases[turn]); !measured) {
          if (interrupt_.requested()) return interrupted();
          return measured;
        }
      }
    }
    for (CaseTimes& times : cases)
      result_.cases.push_back(std::move(times));
    return {};
  }

  [[nodiscard]] Status measure_turn(run::Computation& computation, CaseTimes& times) {
    if (!times.missing.empty()) return {};
    const image::Schedule& schedule = times.which.schedule;
    if (Status used = computation.use(schedule, interrupt_.token()); !used) return used;
    const auto& refused = computation.executor().refused();
    if (const auto why = refused.find(schedule.affinity); why != refused.end()) {
      times.missing = why->second;
      times.ms.clear();
      return {};
    }
    computation.start_counting();
    const auto spent = computation.process(clip_->input.frames, interrupt_.token());
    if (!spent) return std::unexpected(spent.error());
    times.ms.push_back(1e3 * *spent / static_cast<double>(clip_->input.frames));
    for (const auto& [cpu, frames] : computation.written_on())
      times.written_on[cpu] += frames;
    return {};
  }

  const StudyRequest& request_;
  const Interrupt& interrupt_;
  const machine::MachineReport& machine_;
  ProgressLine progress_;
  report::StudyResult result_;
  std::map<std::string, std::string> given_;  // the user's clips by the clip that they replace
  std::unique_ptr<Clip> clip_;
  std::int64_t done_ = 0;
  std::int64_t total_ = 0;
};

}  // namespace

Result<report::StudyResult> measure_study(const StudyRequest& request, const Interrupt& interrupt) {
  const auto machine = machine::inspect_machine();
  if (!machine) return std::unexpected(machine.error());
  if (Status allowed = run::check_threads(request.threads.value_or(0), machine->usable.worker_limit);
      !allowed)
    return std::unexpected(allowed.error());
  return StudyMeasurement(request, interrupt, *machine).measure();
}

}  // namespace millrace::cli
