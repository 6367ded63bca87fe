#include "millrace/run/video/frame_processor.h"

#include "millrace/base/error/clock.h"
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

// Whether a kernel can address the plane: aligned rows of whole samples within 32-bit offsets.
bool is_regular(const image::PixelView& view) {
  const auto sample = static_cast<std::ptrdiff_t>(bytes_of(view.type));
  const std::ptrdiff_t step = std::abs(view.stride / sample);
  return reinterpret_cast<std::uintptr_t>(view.data) % static_cast<std::uintptr_t>(sample) == 0 &&
         view.stride % sample == 0 &&
         step * view.covers.height() <= std::ptrdiff_t{std::numeric_limits<std::int32_t>::max()};
}

// Addresses from the first to the last sample of a plane.
struct Extent {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

Extent extent_of(const image::PixelView& view) {
  const auto first = reinterpret_cast<std::uintptr_t>(view.at(view.covers.x0, view.covers.y0));
  const auto last = reinterpret_cast<std::uintptr_t>(view.at(view.covers.x0, view.covers.y1 - 1));
  const auto row =
      static_cast<std::uintptr_t>(view.covers.width()) * static_cast<std::uintptr_t>(bytes_of(view.type));
  return {std::min(first, last), std::max(first, last) + row};
}

// Whether samples of the two may overlap. Conservative: also true if rows of one lie between those of the
// other.
bool may_overlap(const image::PixelView& a, const image::PixelView& b) {
  const Extent one = extent_of(a);
  const Extent other = extent_of(b);
  return one.begin < other.end && other.begin < one.end;
}

void copy(const image::PixelView& from, const image::PixelView& to) {
  const auto row =
      static_cast<std::size_t>(from.covers.width()) * static_cast<std::size_t>(bytes_of(from.type));
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

FrameProcessor::FrameProcessor(ExecutionContext& context, VideoRunOptions options)
    : options_(std::move(options)), runner_(context, options_) {
  runner_.executor().heed(options_.stop);
}

Result<std::unique_ptr<FrameProcessor>>
FrameProcessor::start(ExecutionContext& context, const video::FrameFormat& input, VideoRunOptions options) {
  std::unique_ptr<FrameProcessor> processor(new FrameProcessor(context, std::move(options)));
  if (Status done = processor->lay_out(input); !done) return std::unexpected(done.error());
  if (Status done = processor->runner_.set_schedule({}, {.live = true, .own_io = false}); !done)
    return std::unexpected(done.error());
  return processor;
}

Status FrameProcessor::lay_out(const video::FrameFormat& input) {
  if (Status done = runner_.lay_out(input); !done) return done;
  if (const image::Filter* reads = image::neighbour_reader(options_.pipeline); reads != nullptr)
    return usage_error("{}: reads neighbouring frames, and each is processed on its own here; give the video "
                       "to a run over all of it",
                       reads->name);
  record_.input_format = input_format();
  record_.output_format = output_format();
  gathered_.resize(runner_.layout().planes.size());
  for (const image::PlaneLayout& plane : runner_.layout().planes) {
    if (std::ranges::none_of(plane.stages, [](const image::StageLayout& stage) {
          return stage.filter->simple().access == image::Access::gather;
        }))
      continue;
    for (const image::SourceFrame& source : plane.sources)
      gathered_[static_cast<std::size_t>(source.plane)] = true;
  }
  return {};
}

Status FrameProcessor::take_in(const std::vector<image::PixelView>& from) {
  task_.sources.assign(from.begin(), from.end());
  for (std::size_t plane = 0; plane < from.size(); ++plane) {
    // A gathering kernel treats the plane as one row and may read one row beyond it.
    if (is_regular(from[plane]) && !gathered_[plane]) continue;
    if (Status made = make(own_input_, input_format()); !made) return made;
    task_.sources[plane] = views_of(*own_input_)[plane];
    copy(from[plane], task_.sources[plane]);
    ++copies_;
  }
  return {};
}

Status FrameProcessor::make_room(const std::vector<image::PixelView>& to) {
  task_.destinations.assign(to.begin(), to.end());
  for (std::size_t plane = 0; plane < to.size(); ++plane) {
    // If the result overlaps a source, pixels would be read that were already overwritten.
    const bool over_a_source =
        std::ranges::any_of(task_.sources, [&](const auto& from) { return may_overlap(from, to[plane]); });
    if (is_regular(to[plane]) && !over_a_source) continue;
    if (Status made = make(own_output_, output_format()); !made) return made;
    task_.destinations[plane] = views_of(*own_output_)[plane];
    ++copies_;
  }
  return {};
}

Status FrameProcessor::process(const std::vector<image::PixelView>& from,
                               const std::vector<image::PixelView>& to) {
  const std::int64_t start = now_ns();
  if (Status followed = runner_.follow_changes(frames()); !followed) return followed;
  if (const auto prepared = runner_.prepare(); !prepared) return std::unexpected(prepared.error());
  if (Status taken = take_in(from); !taken) return taken;
  if (Status made = make_room(to); !made) return made;
  const Status done = runner_.run(std::span<const image::FrameTask>(&task_, 1), seconds(now_ns() - start));
  if (!done && done.error().kind == ErrorKind::interrupted) return done;
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
  record_.output_complete = true;  // the caller has every frame
  record_.wall_seconds = seconds(wall_ns_);
  runner_.finish(record_, std::nullopt);
}

}  // namespace millrace::run
