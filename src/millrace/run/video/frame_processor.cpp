#include "millrace/run/video/frame_processor.h"

#include "millrace/base/clock.h"
#include "millrace/run/video/frame_views.h"
#include "millrace/video/frame/frame_pool.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

namespace millrace::run {
namespace {

// Whether a kernel can count its way through the plane: in whole samples that lie where samples may lie, by
// 32-bit numbers.
bool is_regular(const image::PixelView& view) {
  const auto sample = static_cast<std::ptrdiff_t>(bytes_of(view.type));
  const std::ptrdiff_t step = std::abs(view.stride / sample);
  return reinterpret_cast<std::uintptr_t>(view.data) % static_cast<std::uintptr_t>(sample) == 0 &&
         view.stride % sample == 0 &&
         step * view.covers.height() <= std::ptrdiff_t{std::numeric_limits<std::int32_t>::max()};
}

void copy(const image::PixelView& from, const image::PixelView& to) {
  const auto row = static_cast<std::size_t>(from.covers.width() * bytes_of(from.type));
  for (int y = from.covers.y0; y < from.covers.y1; ++y)
    std::memcpy(to.at(to.covers.x0, y), from.at(from.covers.x0, y), row);
}

Status make(std::optional<video::Frame>& frame, const video::FrameFormat& format) {
  if (frame) return {};
  auto made = video::FramePool(format).acquire();
  if (!made) return std::unexpected(made.error());
  frame = std::move(*made);
  return {};
}

}  // namespace

FrameProcessor::FrameProcessor(Workplace& workplace, VideoRunOptions options)
    : workplace_(workplace), options_(std::move(options)), executor_(workplace.executor()),
      compiled_before_(workplace.library().compile_seconds()), announced_(options_.pipeline) {}

Result<std::unique_ptr<FrameProcessor>>
FrameProcessor::start(Workplace& workplace, const video::FrameFormat& input, VideoRunOptions options) {
  std::unique_ptr<FrameProcessor> processor(new FrameProcessor(workplace, std::move(options)));
  if (Status done = processor->lay_out(input); !done) return std::unexpected(done.error());
  if (Status done = processor->set_schedule(); !done) return std::unexpected(done.error());
  return processor;
}

Status FrameProcessor::lay_out(const video::FrameFormat& input) {
  auto layout = image::lay_out_frame(options_.pipeline, input, options_.planes);
  if (!layout) return std::unexpected(layout.error());
  if (const image::Filter* reads = image::neighbour_reader(options_.pipeline); reads != nullptr)
    return usage_error("{}: reads neighbouring frames, and each is processed on its own here; give the video "
                       "to a run over all of it",
                       reads->name);
  layout_ = std::move(*layout);
  record_.input_format = layout_.input;
  record_.output_format = layout_.output;
  for (const image::PlaneLayout& plane : layout_.planes)
    gathered_.push_back(std::ranges::any_of(plane.stages, [](const image::StageLayout& stage) {
      return stage.filter->access == image::Access::gather;
    }));
  auto timeline = image::ParameterTimeline::make(options_.pipeline, options_.changes);
  if (!timeline) return std::unexpected(timeline.error());
  timeline_ = std::move(*timeline);
  for (const std::int64_t frame : timeline_->ends()) {
    const auto changed = image::lay_out_frame(timeline_->at(frame), layout_.input, options_.planes);
    if (!changed) return std::unexpected(changed.error());
    if (changed->output != layout_.output)
      return usage_error(
          "at frame {} the output would become {} instead of {}; a size cannot change within a run", frame,
          video::to_string(changed->output), video::to_string(layout_.output));
    if (!image::same_stages(*changed, layout_))
      return usage_error(
          "at frame {} a filter would be made of other steps, which cannot change within a run", frame);
  }
  return {};
}

Status FrameProcessor::set_schedule() {
  if (const auto* fixed = std::get_if<image::Schedule>(&options_.schedule))
    return executor_.set(layout_, *fixed);
  SearchOptions asked;
  if (const auto* given = std::get_if<SearchOptions>(&options_.schedule))
    asked = *given;
  else
    asked.adaptive.freedom = {.max_threads = workplace_.threads(), .isas = {machine::best_isa()}};
  auto search =
      ScheduleSearch::start(workplace_, executor_, asked, options_.pipeline, options_.planes, layout_);
  if (!search) return std::unexpected(search.error());
  search_.emplace(std::move(*search));
  return {};
}

Status FrameProcessor::follow_changes() {
  const std::int64_t frame = options_.first_frame + frames();
  const bool begins_behind_changes = frame > 0 && frame == options_.first_frame;
  if (!timeline_->changes_at(frame) && !begins_behind_changes) return {};
  const image::Pipeline pipeline = timeline_->at(frame);
  const bool different = image::differs_for_schedules(announced_, pipeline);
  if (different) announced_ = pipeline;
  const auto changed = image::lay_out_frame(pipeline, layout_.input, options_.planes);
  if (!changed) return std::unexpected(changed.error());
  if (search_)
    search_->scheduler().update(*changed, different);
  else
    executor_.update(*changed);
  return {};
}

Status FrameProcessor::take_in(const std::vector<image::PixelView>& from) {
  task_.sources.assign(from.begin(), from.end());
  for (std::size_t plane = 0; plane < from.size(); ++plane) {
    // A kernel that gathers takes the plane for one row, and reads a row more.
    if (is_regular(from[plane]) && !gathered_[plane]) continue;
    if (Status made = make(own_input_, layout_.input); !made) return made;
    task_.sources[plane] = views_of(*own_input_)[plane];
    copy(from[plane], task_.sources[plane]);
    ++copies_;
  }
  return {};
}

Status FrameProcessor::make_room(const std::vector<image::PixelView>& to) {
  task_.destinations.assign(to.begin(), to.end());
  for (std::size_t plane = 0; plane < to.size(); ++plane) {
    if (is_regular(to[plane])) continue;
    if (Status made = make(own_output_, layout_.output); !made) return made;
    task_.destinations[plane] = views_of(*own_output_)[plane];
    ++copies_;
  }
  return {};
}

Status FrameProcessor::process(const std::vector<image::PixelView>& from,
                               const std::vector<image::PixelView>& to) {
  const std::int64_t start = now_ns();
  if (Status followed = follow_changes(); !followed) return followed;
  if (search_) {
    if (const auto prepared = search_->scheduler().prepare(); !prepared)
      return std::unexpected(prepared.error());
  }
  if (Status taken = take_in(from); !taken) return taken;
  if (Status made = make_room(to); !made) return made;
  const std::span<const image::FrameTask> one(&task_, 1);
  const Status done = search_ ? search_->scheduler().run(one, seconds(now_ns() - start)) : executor_.run(one);
  if (!done) return failure("frame {}: {}", frames(), done.error().message);
  for (std::size_t plane = 0; plane < to.size(); ++plane)
    if (task_.destinations[plane].data != to[plane].data) copy(task_.destinations[plane], to[plane]);
  const std::int64_t spent = now_ns() - start;
  if (frames_.fetch_add(1, std::memory_order_relaxed) == 0) record_.first_frame_seconds = seconds(spent);
  wall_ns_ += spent;
  return {};
}

void FrameProcessor::finish() {
  record_.frames = frames();
  if (search_)
    search_->finish(timeline_->at(options_.first_frame + std::max<std::int64_t>(frames() - 1, 0)), record_);
  record_.wall_seconds = seconds(wall_ns_);
  record_work(executor_, workplace_.library(), record_);
  record_.compile_seconds -= compiled_before_;
}

}  // namespace millrace::run
