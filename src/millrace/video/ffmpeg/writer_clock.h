// What a file's times count in, and how its container is told of them.
#pragma once

#include "millrace/video/ffmpeg/coded_kinds.h"
#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/frame/frame.h"

#include <cstdint>

namespace millrace::video {

// From the times of a PresentationClock to those that an encoder and a container are given. A value.
class WriterClock {
 public:
  WriterClock(const FrameFormat& format, const Container& container);

  // Of the presentation clock.
  [[nodiscard]] AVRational base() const { return base_; }
  // Of the file. That of the timestamps, so that they stay what they are; but .mp4 and .mov have few bits for
  // the time between two frames, which units of a microsecond would soon use up.
  [[nodiscard]] AVRational time_base() const { return time_base_; }
  // In units of the file, from those of the presentation clock.
  [[nodiscard]] std::int64_t at(std::int64_t time) const { return av_rescale_q(time, base_, time_base_); }
  // Of a frame at the frame rate, at least 1 unit of the file.
  [[nodiscard]] std::int64_t frame_duration() const { return duration_; }

 private:
  AVRational base_;
  AVRational time_base_;
  std::int64_t duration_;
};

// What the containers have to be told, before their header is written.
void set_up_muxer(AVFormatContext& muxer, const Container& container, const FrameFormat& format,
                  const WriterClock& clock, AVStream& stream);

}  // namespace millrace::video
