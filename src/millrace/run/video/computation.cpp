#include "millrace/run/video/computation.h"

#include "millrace/base/error/clock.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <sched.h>
#include <utility>

namespace millrace::run {
namespace {

template <class Sample>
void load(const video::PlaneView& plane, float maximum, const image::PixelView& target) {
  for (int y = 0; y < plane.height; ++y) {
    const Sample* row = plane.row<Sample>(y);
    for (int x = 0; x < plane.width; ++x)
      target.pixel<float>(x, y) = static_cast<float>(row[x]) / maximum;
  }
}

void load(const video::Frame& frame, const std::vector<image::PixelView>& targets) {
  const auto maximum = static_cast<float>((1 << frame.format().bits) - 1);
  for (std::size_t p = 0; p < targets.size(); ++p) {
    const video::PlaneView codes = frame.plane(static_cast<int>(p));
    if (frame.format().bits > 8)
      load<std::uint16_t>(codes, maximum, targets[p]);
    else
      load<std::uint8_t>(codes, maximum, targets[p]);
  }
}

// `more` and `less` come from one executor and one schedule, so they have the same stages in the same order.
std::vector<image::StageReport> difference(std::vector<image::StageReport> more,
                                           const std::vector<image::StageReport>& less) {
  for (std::size_t i = 0; i < std::min(more.size(), less.size()); ++i) {
    more[i].frames -= less[i].frames;
    more[i].pixels_computed -= less[i].pixels_computed;
    more[i].pixels_required -= less[i].pixels_required;
    more[i].timed_ns -= less[i].timed_ns;
    more[i].timed_pixels -= less[i].timed_pixels;
  }
  std::erase_if(more, [](const image::StageReport& report) { return report.frames == 0; });
  return more;
}

}  // namespace

std::string_view name_of(InputPixels pixels) { return pixels == InputPixels::fresh ? "fresh" : "preloaded"; }

Result<std::vector<video::Frame>> read_frames(video::FrameReader& reader, std::int64_t most,
                                              std::string_view name, InputPixels pixels,
                                              std::uint64_t memory) {
  // Each frame as decoded; preloaded frames also as floats, before and after.
  const std::uint64_t decoded = video::frame_bytes(reader.format());
  const std::uint64_t sample = reader.format().bits > 8 ? sizeof(std::uint16_t) : sizeof(std::uint8_t);
  const std::uint64_t each =
      decoded + (pixels == InputPixels::preloaded ? 2 * sizeof(float) * (decoded / sample) : 0);
  std::vector<video::Frame> frames;
  while (std::ssize(frames) < most) {
    if (!frames.empty() && (frames.size() + 1) * each > memory)
      return usage_error(
          "'{}': more than {} frames do not fit into the memory that is to be had; give fewer: "
          "--frames {}",
          name, frames.size(), frames.size());
    auto frame = reader.next();
    if (!frame) return std::unexpected(frame.error());
    if (!*frame) break;
    frames.push_back(std::move(**frame));
  }
  if (frames.empty()) return failure("'{}' has no frames", name);
  return frames;
}

Computation::Computation(ExecutionContext& context, const std::vector<video::Frame>& frames,
                         image::FrameLayout layout, InputPixels pixels)
    : context_(context), frames_(frames), layout_(std::move(layout)), pixels_(pixels),
      executor_(context.pool(), context.library(), context.machine().topology,
                context.machine().usable.cpus) {
  executor_.time_stages_every(0);
  if (pixels_ == InputPixels::fresh) return;
  for (const video::Frame& frame : frames_) {
    slots_.push_back(make_slot());
    load(frame, slots_.back().task.sources);
  }
  add_neighbours();
}

// Frames beyond the beginning or the end repeat the first or the last one.
void Computation::add_neighbours() {
  const std::size_t planes = layout_.planes.size();
  for (std::size_t k = 1; k < layout_.sources.size(); ++k) {
    for (std::int64_t i = 0; i < std::ssize(slots_); ++i) {
      const std::int64_t read =
          std::clamp<std::int64_t>(i + layout_.sources[k].offset, 0, std::ssize(slots_) - 1);
      std::vector<image::PixelView>& sources = slots_[static_cast<std::size_t>(i)].task.sources;
      for (std::size_t p = 0; p < planes; ++p)
        sources.push_back(slots_[static_cast<std::size_t>(read)].task.sources[p]);
    }
  }
}

Computation::Slot Computation::make_slot() const {
  Slot slot;
  for (const image::PlaneLayout& plane : layout_.planes) {
    slot.sources.emplace_back(plane.source.size, image::ElementType::f32);
    slot.destinations.emplace_back(plane.output.size, image::ElementType::f32);
    slot.task.sources.push_back(slot.sources.back().view());
    slot.task.destinations.push_back(slot.destinations.back().view());
  }
  return slot;
}

Status Computation::use(const image::Schedule& schedule, const std::stop_token& stop) {
  if (pixels_ == InputPixels::fresh && layout_.sources.size() > 1)
    return usage_error(
        "the pipeline reads neighbouring frames, which are not there with --fresh-input; leave it out");
  if (Status used = set_ ? executor_.use(schedule) : executor_.set(layout_, schedule); !used) return used;
  set_ = true;
  if (Status ready = executor_.await_kernels(stop); !ready) return ready;
  if (pixels_ == InputPixels::fresh) {
    while (std::ssize(slots_) < schedule.frames_in_flight)
      slots_.push_back(make_slot());
    const machine::CpuSet& cpus = executor_.io_cpus();
    if (cpus.empty()) {
      input_.reset();
    } else if (!input_ || cpus != input_cpus_) {
      input_.reset();
      auto started = InputThread::start(cpus);
      if (!started) return std::unexpected(started.error());
      input_ = std::move(*started);
      input_cpus_ = cpus;
    }
  }
  // Processing as many frames as are in memory touches all of it.
  const auto written = written_on_;
  const std::int64_t counted = counted_frames_;
  auto touched =
      process(pixels_ == InputPixels::fresh ? schedule.frames_in_flight : std::ssize(frames_), stop);
  written_on_ = written;
  counted_frames_ = counted;
  return touched ? Status{} : std::unexpected(touched.error());
}

Result<double> Computation::process(std::int64_t count, const std::stop_token& stop) {
  const auto side_by_side = static_cast<std::int64_t>(executor_.in_use().frames_in_flight);
  double spent = 0;
  while (count > 0) {
    if (stop.stop_requested())
      return std::unexpected(Error{ErrorKind::interrupted, "interrupted while computing"});
    // The batch ends at the last frame; later frames come with the next batch.
    const std::int64_t batch = std::min({count, side_by_side, std::ssize(frames_) - next_});
    const auto seconds = process_batch(batch);
    if (!seconds) return seconds;
    spent += *seconds;
    count -= batch;
    counted_frames_ += batch;
    next_ = (next_ + batch) % std::ssize(frames_);
  }
  return spent;
}

Result<double> Computation::process_batch(std::int64_t count) {
  std::vector<image::FrameTask> tasks;
  for (std::int64_t i = 0; i < count; ++i) {
    last_ = &slots_[static_cast<std::size_t>(pixels_ == InputPixels::fresh ? i : next_ + i)].task;
    tasks.push_back(*last_);
  }
  if (pixels_ == InputPixels::fresh) {
    write_fresh(count);
    // The workers have fallen asleep meanwhile. Waking them is not computing; in a continuous stream they
    // would not have slept.
    if (!executor_.in_use().fresh_threads) {
      pool::PoolTeam team = context_.pool().team().last(executor_.in_use().threads);
      if (Status woken = team.run([](int) {}); !woken) return std::unexpected(woken.error());
    }
  }
  const std::int64_t start = now_ns();
  if (Status done = executor_.run(tasks); !done) return std::unexpected(done.error());
  return seconds(now_ns() - start);
}

void Computation::write_fresh(std::int64_t count) {
  const auto write = [&] {
    for (std::int64_t i = 0; i < count; ++i)
      load(frames_[static_cast<std::size_t>(next_ + i)], slots_[static_cast<std::size_t>(i)].task.sources);
  };
  int cpu = -1;
  if (input_) {
    cpu = input_->call(write);
  } else {
    write();
    cpu = sched_getcpu();
  }
  written_on_[cpu] += count;
}

void Computation::start_counting() {
  counted_frames_ = 0;
  written_on_.clear();
  record_work(executor_, context_.library(), before_);
}

void Computation::record(RunRecord& record) const {
  record_work(executor_, context_.library(), record);
  record.input_format = layout_.input;
  record.output_format = layout_.output;
  record.frames = counted_frames_;
  record.compute_seconds -= before_.compute_seconds;
  record.stand_in_frames -= before_.stand_in_frames;
  record.stages = difference(std::move(record.stages), before_.stages);
}

}  // namespace millrace::run
