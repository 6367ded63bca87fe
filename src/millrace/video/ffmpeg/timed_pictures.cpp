#include "millrace/video/ffmpeg/timed_pictures.h"

#include <array>
#include <span>
#include <utility>

namespace millrace::video {
namespace {

std::optional<std::int64_t> time_of(const AVFrame& picture) {
  if (picture.best_effort_timestamp == AV_NOPTS_VALUE) return std::nullopt;
  return picture.best_effort_timestamp;
}

}  // namespace

void TimedPictures::put_in_order(std::int64_t duration) {
  times_.emplace(duration);
  if (!picture_) return;
  const std::array first{time_of(*picture_)};
  [[maybe_unused]] const auto kept = times_->place(first);
}

Result<bool> TimedPictures::next() {
  if (ahead_.empty() && !decode_one()) return *end_;
  picture_ = std::move(ahead_.front());
  ahead_.pop_front();
  if (!times_) return true;
  std::array<std::optional<std::int64_t>, SteadyTimes::most_frames> times{time_of(*picture_)};
  std::size_t count = 1;
  if (times_->looks_ahead(times.front())) {
    while (ahead_.size() + 1 < SteadyTimes::most_frames && decode_one()) {
    }
    for (const FfmpegPtr<AVFrame>& each : ahead_)
      times.at(count++) = time_of(*each);
  }
  const auto placed = times_->place(std::span(times).first(count));
  picture_->best_effort_timestamp = placed.value_or(AV_NOPTS_VALUE);
  return true;
}

bool TimedPictures::is_last() { return ahead_.empty() && !decode_one() && *end_ && !**end_; }

// Returns false if there are no more pictures.
bool TimedPictures::decode_one() {
  if (end_) return false;
  Result<bool> more = decoder_.next();
  FfmpegPtr<AVFrame> picture(more && *more ? av_frame_alloc() : nullptr);
  if (!picture) {
    if (more && *more) more = failure("out of memory for a picture");
    end_ = std::move(more);
    return false;
  }
  av_frame_move_ref(picture.get(), &decoder_.picture());
  ahead_.push_back(std::move(picture));
  return true;
}

}  // namespace millrace::video
