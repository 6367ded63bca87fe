#include "millrace/video/clipped_reader.h"

#include "millrace/video/ffmpeg_backend.h"
#include "millrace/video/frame/own_duration.h"

#include <algorithm>
#include <utility>

namespace millrace::video {
namespace {

constexpr TimeUnit clip_unit{1, 1'000'000};  // of the times in a Clip
constexpr std::int64_t clip_second = 1'000'000;

// Rounds to the nearest unit.
std::int64_t rescaled(std::int64_t time, TimeUnit from, TimeUnit to) {
  const __int128 up = static_cast<__int128>(time) * from.numerator * to.denominator;
  const __int128 down = static_cast<__int128>(from.denominator) * to.numerator;
  return static_cast<std::int64_t>((up + (up < 0 ? -down : down) / 2) / down);
}

// The first unit at that time or later. A unit less than a microsecond before it counts too, because times on
// the command line end at microseconds. Units may be as long as frames, so the nearest would not do.
std::int64_t first_unit_from(std::int64_t micros, TimeUnit unit) {
  const __int128 up = (static_cast<__int128>(micros) - 1) * unit.denominator;
  const __int128 down = static_cast<__int128>(clip_unit.denominator) * unit.numerator;
  if (down < unit.denominator) return rescaled(micros, clip_unit, unit);  // shorter than a microsecond
  return static_cast<std::int64_t>(up < 0 ? -((-up + down - 1) / down) : up / down) + 1;
}

bool is_longer(std::int64_t time, TimeUnit unit, std::int64_t than, TimeUnit than_unit) {
  return static_cast<__int128>(time) * unit.numerator * than_unit.denominator >
         static_cast<__int128>(than) * than_unit.numerator * unit.denominator;
}

class ClippedReader final : public FrameReader {
 public:
  ClippedReader(std::unique_ptr<FrameReader> reader, const Clip& clip, std::shared_ptr<SideStreams> side,
                std::string name)
      : reader_(std::move(reader)), clip_(clip), side_(std::move(side)), name_(std::move(name)),
        unit_(format().has_timestamps()
                  ? TimeUnit{format().time_base_numerator, format().time_base_denominator}
                  : TimeUnit{format().rate_denominator, format().rate_numerator}) {}

  [[nodiscard]] const FrameFormat& format() const override { return reader_->format(); }
  [[nodiscard]] SharedProperties properties() const override { return reader_->properties(); }
  [[nodiscard]] std::vector<std::string> unread() const override { return reader_->unread(); }
  void cancel() override { reader_->cancel(); }

  [[nodiscard]] std::optional<std::int64_t> frame_count_hint() const override {
    return clipped(reader_->frame_count_hint());
  }
  [[nodiscard]] std::optional<std::int64_t> frames_expected() const override {
    return clipped(reader_->frames_expected());
  }

  // Counts the losses of the part only.
  [[nodiscard]] Losses losses() const override {
    Losses all = reader_->losses();
    if (!clip_.start) return all;
    all.at_start = 0;
    all.damaged -= before_.damaged;
    if (all.damaged == 0 && all.first_damage == before_.first_damage) all.first_damage.clear();
    return all;
  }

  [[nodiscard]] Result<std::optional<Frame>> next() override {
    if (ended_) return std::nullopt;
    if (clip_.frames && delivered_ >= *clip_.frames) return end_at(last_ + last_duration_);
    Result<std::optional<Frame>> frame = delivered_ == 0 ? first() : read();
    if (!frame || !*frame) return frame;
    if (end_ && time_ >= *end_) {
      if (delivered_ == 0) return nothing();
      return end_at(*end_);
    }
    (*frame)->index = delivered_++;
    last_ = time_;
    const auto own = own_duration(**frame);
    last_duration_ = own.value_or(duration());
    if (own && end_ && *own > *end_ - time_) {
      last_duration_ = std::max<std::int64_t>(1, *end_ - time_);
      set_own_duration(**frame, last_duration_);
    }
    if ((*frame)->timestamp) *(*frame)->timestamp -= shift_;
    return frame;
  }

 private:
  // Limits a number of frames of the whole video to the part.
  [[nodiscard]] std::optional<std::int64_t> clipped(std::optional<std::int64_t> all) const {
    if (all) {
      const auto frames_in = [&](std::int64_t time) {
        return rescaled(time, clip_unit, {format().rate_denominator, format().rate_numerator});
      };
      if (clip_.end) all = std::min(*all, frames_in(*clip_.end));
      if (clip_.start) all = std::max<std::int64_t>(0, *all - frames_in(*clip_.start));
    }
    if (!clip_.frames) return all;
    return all ? std::min(*all, *clip_.frames) : *clip_.frames;
  }

  // Returns the reader's next frame and sets time_ to its presentation time, in units.
  [[nodiscard]] Result<std::optional<Frame>> read() {
    Result<std::optional<Frame>> frame = reader_->next();
    if (!frame || !*frame) return frame;
    time_ = format().has_timestamps() ? (*frame)->timestamp.value_or(time_ + duration()) : (*frame)->index;
    return frame;
  }

  [[nodiscard]] Result<std::optional<Frame>> first() {
    Result<std::optional<Frame>> frame = read();
    if (!frame || !*frame) return frame;
    const std::int64_t origin = origin_ = time_;
    const auto units = [&](std::int64_t micros) { return origin + first_unit_from(micros, unit_); };
    if (clip_.end) end_ = units(*clip_.end);
    if (clip_.start) start_ = units(*clip_.start);
    if (clip_.start) shift_ = *start_ - origin;
    set_window(end_);
    if (!clip_.start) return frame;
    return from(origin, std::move(frame));
  }

  // Returns the first frame of the part. `frame` is the first of the video, shown at `origin`.
  [[nodiscard]] Result<std::optional<Frame>> from(std::int64_t origin, Result<std::optional<Frame>> frame) {
    const std::int64_t start = origin + shift_;
    // Reads through a short distance instead of seeking, because keyframe indices are not always right.
    const bool far = rescaled(shift_, unit_, clip_unit) > 2 * clip_second;
    const bool sought = far && reader_->seek(start);
    if (sought) frame = read();
    // Without a timestamp, the place of the frame shows only when the video is read from its start.
    if (sought && (!frame || !*frame || !(*frame)->timestamp || time_ > start)) {
      if (reader_->seek(origin))
        frame = read();
      else if (frame)
        return failure("{}: cannot be read again from its start", name_);
    }
    while (frame && *frame && is_before(start))
      frame = read();
    if (frame && !*frame) return nothing();
    before_ = reader_->losses();
    return frame;
  }

  // The start was given in clip_unit, so a frame less than one microsecond before it still counts.
  [[nodiscard]] bool is_before(std::int64_t start) const {
    return time_ < start && is_longer(start - time_, unit_, 1, clip_unit);
  }

  [[nodiscard]] std::unexpected<Error> nothing() const {
    return failure(
        "{}: has no frame in the part that is asked for: {} frames a second, the last one read is at "
        "{:.3f} s; choose an earlier --start, or a later --end",
        name_, static_cast<double>(format().rate_numerator) / format().rate_denominator,
        static_cast<double>(time_ - origin_) * unit_.numerator / unit_.denominator);
  }

  void set_window(std::optional<std::int64_t> end) {
    if (!side_) return;
    if (const auto backend = ffmpeg_backend()) (*backend)->set_window(*side_, start_, end, shift_, unit_);
  }

  [[nodiscard]] std::nullopt_t end_at(std::int64_t time) {
    ended_ = true;
    set_window(time);
    if (side_) reader_->complete_side_streams();
    return std::nullopt;
  }

  [[nodiscard]] std::int64_t duration() const {
    return std::max<std::int64_t>(1,
                                  rescaled(1, {format().rate_denominator, format().rate_numerator}, unit_));
  }

  std::unique_ptr<FrameReader> reader_;
  Clip clip_;
  std::shared_ptr<SideStreams> side_;
  std::string name_;
  TimeUnit unit_;
  std::int64_t time_ = 0;
  std::int64_t origin_ = 0;  // time of the first frame of the video
  std::int64_t last_ = 0;    // time of the last frame delivered
  std::int64_t last_duration_ = 0;
  std::int64_t shift_ = 0;
  std::optional<std::int64_t> start_;
  std::optional<std::int64_t> end_;
  std::int64_t delivered_ = 0;
  bool ended_ = false;
  Losses before_;
};

}  // namespace

std::unique_ptr<FrameReader> clipped(std::unique_ptr<FrameReader> reader, const Clip& clip,
                                     std::shared_ptr<SideStreams> side, std::string name) {
  if (clip.is_whole()) return reader;
  return std::make_unique<ClippedReader>(std::move(reader), clip, std::move(side), std::move(name));
}

}  // namespace millrace::video
