#include "millrace/run/video/pipeline_runner.h"

#include <algorithm>
#include <utility>

namespace millrace::run {
namespace {

// Searches everything that the execution context can do, for throughput.
SearchOptions free_search(const ExecutionContext& context) {
  SearchOptions search;
  search.adaptive.freedom = {.max_threads = context.threads(), .isas = {machine::best_isa()}};
  return search;
}

void add_bindings(const machine::MachineReport& machine, bool own_io, image::ScheduleFreedom& freedom) {
  for (const machine::ArrangementLimit& possible :
       machine::binding_arrangements(machine.topology, machine.usable.cpus)) {
    if (own_io || !machine::binds_io(possible.arrangement)) freedom.affinities.push_back(possible);
  }
}

// With few frames, a large batch would make input, filters and output wait for each other. Frames with
// different parameters are computed one by one.
int most_side_by_side(std::optional<std::int64_t> frames, std::int64_t steady_frames) {
  constexpr std::int64_t rounds = 8;
  constexpr std::int64_t most = 1 << 20;
  const std::int64_t of_all = frames ? std::max<std::int64_t>(2, *frames / rounds) : most;
  return static_cast<int>(std::min({of_all, steady_frames, most}));
}

}  // namespace

PipelineRunner::PipelineRunner(ExecutionContext& context, const VideoRunOptions& options)
    : context_(context), options_(options), executor_(context.executor()),
      compiled_before_(context.library().compile_seconds()), announced_(options.pipeline) {}

Status PipelineRunner::lay_out(const video::FrameFormat& input,
                               const std::optional<video::FrameFormat>& second) {
  auto layout =
      image::lay_out_frame(options_.pipeline, input, options_.planes, samples(), second, options_.made);
  if (!layout) return std::unexpected(layout.error());
  layout_ = std::move(*layout);
  auto timeline = image::ParameterTimeline::make(options_.pipeline, options_.changes);
  if (!timeline) return std::unexpected(timeline.error());
  timeline_ = std::move(*timeline);
  return check_changes();
}

Result<image::FrameLayout> PipelineRunner::layout_of(const image::Pipeline& pipeline) const {
  return image::lay_out_frame(pipeline, layout_.input, options_.planes, samples(), layout_.second,
                              options_.made);
}

image::Samples PipelineRunner::samples() const {
  return options_.changes.empty() ? image::Samples::codes : image::Samples::codes_all_along;
}

// The size of output frames must not change during the run.
Status PipelineRunner::check_changes() const {
  for (const std::int64_t frame : timeline_->ends()) {
    const auto changed = layout_of(timeline_->at(frame));
    if (!changed) return std::unexpected(changed.error());
    if (changed->output != layout_.output)
      return usage_error(
          "at frame {}: the output would become {} instead of {}; a size cannot change within a run", frame,
          video::to_string(changed->output), video::to_string(layout_.output));
    if (!image::same_stages(*changed, layout_))
      return usage_error(
          "at frame {}: this parameter decides which steps the filter is made of, which cannot "
          "change within a run",
          frame);
  }
  return {};
}

Status PipelineRunner::set_schedule(std::optional<std::int64_t> frames, const Ends& ends) {
  executor_.wake(ends.own_io ? pool::WakeUp::anywhere : pool::WakeUp::elsewhere);
  if (const auto* fixed = std::get_if<image::Schedule>(&options_.schedule)) {
    frames_in_flight_ = fixed->frames_in_flight;
    return executor_.set(layout_, *fixed);
  }
  const auto* given = std::get_if<SearchOptions>(&options_.schedule);
  SearchOptions asked = given != nullptr ? *given : free_search(context_);
  if (asked.may_bind) add_bindings(context_.machine(), ends.own_io, asked.adaptive.freedom);
  image::ScheduleFreedom& freedom = asked.adaptive.freedom;
  freedom.cache_bytes = context_.machine()
                            .topology.last_level_bytes(context_.machine().usable.cpus)
                            .value_or(freedom.cache_bytes);
  freedom.max_frames_in_flight =
      std::min(freedom.max_frames_in_flight, most_side_by_side(frames, timeline_->steady_frames()));
  // A live source may wait for each result before it sends the next frame. Its profiles are kept apart from
  // those of files.
  if (ends.live && !freedom.frames_in_flight) {
    freedom.max_frames_in_flight = 1;
    asked.fixed.emplace("input", "live");
  }
  frames_after_ = asked.frames_after;
  asked.adaptive.frames = frames ? frames : ends.expected;
  if (asked.adaptive.frames) *asked.adaptive.frames += frames_after_;
  auto search =
      ScheduleSearch::start(context_, executor_, asked, options_.pipeline, options_.planes, layout_);
  if (!search) return std::unexpected(search.error());
  search_.emplace(std::move(*search));
  return {};
}

Status PipelineRunner::follow_changes(std::int64_t frame) {
  const bool begins_behind_changes = frame == 0 && options_.first_frame > 0;
  if (!changes_at(frame) && !begins_behind_changes) return {};
  const image::Pipeline pipeline = timeline_->at(options_.first_frame + frame);
  const bool different = image::differs_for_schedules(announced_, pipeline);
  if (different) announced_ = pipeline;
  const auto changed = layout_of(pipeline);
  if (!changed) return std::unexpected(changed.error());
  if (search_)
    search_->scheduler().update(*changed, different);
  else
    executor_.update(*changed);
  return {};
}

void PipelineRunner::expect(std::optional<std::int64_t> frames) {
  if (frames) *frames += frames_after_;
  if (search_) search_->scheduler().expect(frames);
}

Result<int> PipelineRunner::prepare() {
  if (search_) return search_->scheduler().prepare();
  return frames_in_flight_;
}

Status PipelineRunner::run(std::span<const image::FrameTask> frames, double waited) {
  return search_ ? search_->scheduler().run(frames, waited) : executor_.run(frames);
}

void PipelineRunner::finish(RunRecord& record, std::optional<double> start) {
  if (search_)
    search_->finish(timeline_->at(options_.first_frame + std::max<std::int64_t>(record.frames - 1, 0)), start,
                    record);
  record_work(executor_, context_.library(), record);
  record.compile_seconds -= compiled_before_;
}

}  // namespace millrace::run
