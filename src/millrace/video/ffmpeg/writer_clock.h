// WriterClock: the time base of a written file.
#pragma once

#include "millrace/video/coded/coded_kinds.h"
#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/frame/frame.h"

#include <cstdint>

namespace millrace::video {

// Converts PresentationClock times to times for the encoder and the container. A value type.
class WriterClock {
 public:
  WriterClock(const FrameFormat& format, const Container& container);

  // Time base of the presentation clock.
  [[nodiscard]] AVRational base() const { return base_; }
  // Time base of the file: that of the timestamps, so that they stay exact. But .mp4 and .mov have few bits
  // for the time between two frames, which units of a microsecond would soon exhaust.
  [[nodiscard]] AVRational time_base() const { return time_base_; }
  // Converts from the presentation clock to units of the file.
  [[nodiscard]] std::int64_t at(std::int64_t time) const { return av_rescale_q(time, base_, time_base_); }
  // One frame duration at the frame rate, at least 1 unit of the file.
  [[nodiscard]] std::int64_t frame_duration() const { return duration_; }

 private:
  AVRational base_;
  AVRational time_base_;
  std::int64_t duration_;
};

// Sets the duration of the packet decoded last so that the file ends at `end`, when the frame shown last
// does. May move its decoding time closer to its presentation time. Times are those of the file.
void end_file_at(std::int64_t end, std::int64_t first_pts, std::int64_t first_dts, AVPacket& last);

// Sets the muxer's timing options. Call it before the header is written.
void set_up_muxer(AVFormatContext& muxer, const Container& container, const FrameFormat& format,
                  const WriterClock& clock, AVStream& stream);

}  // namespace millrace::video
