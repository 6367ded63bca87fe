#include "millrace/run/video/input_passes.h"

#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/video/frame/own_duration.h"
#include "millrace/video/reader.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace millrace::run {
namespace {

video::Losses sum(const video::Losses& a, const video::Losses& b) {
  return {a.at_start + b.at_start, a.damaged + b.damaged,
          a.first_damage.empty() ? b.first_damage : a.first_damage, a.clock_jumps + b.clock_jumps,
          a.first_clock_jump.empty() ? b.first_clock_jump : a.first_clock_jump};
}

}  // namespace

Status InputPasses::open() {
  const machine::AffinityGuard own;
  cpus_.bind_for_codec();
  auto opened = source_.open(options_);
  if (!opened) return std::unexpected(opened.error());
  if (reader_ && (*opened)->format() != reader_->format())
    return failure("'{}' changed its format between two passes", source_.name);
  if (most_) clip_.frames = *most_ - delivered_;
  reader_ = video::clipped(std::move(*opened), clip_, options_.side_streams, source_.name);
  return {};
}

void InputPasses::start(const IoCpus& cpus) {
  cpus_ = cpus;
  read_ahead();
}

void InputPasses::read_ahead() {
  const machine::AffinityGuard own;
  cpus_.bind_for_io();
  auto ahead = std::make_unique<video::OverlappedReader>(std::move(reader_), depth_);
  ahead_ = ahead.get();
  reader_ = std::move(ahead);
}

void InputPasses::move_to(const IoCpus& cpus) {
  cpus_ = cpus;
  cpus_.move_for_io(ahead_->thread());
}

void InputPasses::set_depth(std::size_t frames) {
  depth_ = frames;
  ahead_->set_depth(frames);
}

std::optional<std::int64_t> InputPasses::expected() const {
  return of_all_passes(a_pass_ ? a_pass_ : reader_->frames_expected());
}

std::optional<std::int64_t> InputPasses::of_all_passes(std::optional<std::int64_t> frames) const {
  constexpr std::int64_t most = std::int64_t{1} << 60;
  if (frames) frames = *frames > most / passes_ ? most : *frames * passes_;
  if (!most_) return frames;
  return frames ? std::min(*frames, *most_) : *most_;
}

Result<std::optional<video::Frame>> InputPasses::next() {
  if (most_ && delivered_ >= *most_) {
    // The reader ends here, too, once it has what is heard until then.
    if (!std::exchange(read_to_the_end_, true)) static_cast<void>(reader_->next());
    return std::nullopt;
  }
  while (true) {
    auto frame = reader_->next();
    if (!frame) return frame;
    if (*frame) {
      (*frame)->index = delivered_++;
      put_in_time(**frame);
      if (Status passed = check_ ? check_(**frame) : Status{}; !passed)
        return std::unexpected(passed.error());
      return frame;
    }
    if (++pass_ >= passes_ || delivered_ == 0) return frame;
    if (!a_pass_) a_pass_ = delivered_;
    before_ = sum(before_, reader_->losses());
    if (last_time_) shift_ = *last_time_ + last_duration_.value_or(frame_duration()) - first_time_;
    if (last_time_ && options_.side_streams)
      video::begin_pass(*options_.side_streams, format(), first_time_ + shift_, shift_, !clip_.is_whole());
    if (Status reopened = open(); !reopened) {
      Error error = reopened.error();
      if (error.kind == ErrorKind::usage) error.kind = ErrorKind::failure;  // it was there before
      return std::unexpected(std::move(error));
    }
    read_ahead();
  }
}

video::Losses InputPasses::losses() const { return sum(before_, reader_->losses()); }

void InputPasses::put_in_time(video::Frame& frame) {
  if (!frame.timestamp) {
    // The last frames of AVI with reordered pictures have none. They are shown after all others.
    if (last_time_) *last_time_ += last_duration_.value_or(frame_duration());
    return;
  }
  *frame.timestamp += shift_;
  if (!last_time_) first_time_ = *frame.timestamp;
  last_time_ = frame.timestamp;
  last_duration_ = video::own_duration(frame);
}

// In units of the time base.
std::int64_t InputPasses::frame_duration() const {
  const video::FrameFormat& f = format();
  const double units = static_cast<double>(f.rate_denominator) / f.rate_numerator * f.time_base_denominator /
                       f.time_base_numerator;
  return std::max<std::int64_t>(1, std::llround(units));
}

}  // namespace millrace::run
