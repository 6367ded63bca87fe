// TimedPictures: the good pictures of a video, with increasing presentation times.
#pragma once

#include "millrace/video/ffmpeg/picture_decoder.h"
#include "millrace/video/frame/steady_times.h"

#include <cstdint>
#include <deque>
#include <optional>

namespace millrace::video {

// Wraps PictureDecoder. If a time is out of order, it decodes some pictures ahead to decide which time is
// wrong.
class TimedPictures {
 public:
  // `demuxer` must outlive this object.
  TimedPictures(Demuxer& demuxer, const ReaderOptions& options) : decoder_(demuxer, options) {}

  [[nodiscard]] Status open() { return decoder_.open(); }
  // Repairs times from the current picture on; before, they are those of the file. duration: of a frame, in
  // units of time.
  void put_in_order(std::int64_t duration);

  // Moves to the next good picture; false at the end.
  [[nodiscard]] Result<bool> next();
  // Its best_effort_timestamp is the presentation time. Valid until the next call of next().
  [[nodiscard]] AVFrame& picture() { return *picture_; }
  // Whether the video ends with the current picture. Decodes the next one.
  [[nodiscard]] bool is_last();

  [[nodiscard]] AVRational coded_frame_rate() const { return decoder_.coded_frame_rate(); }
  // Up to the last decoded picture.
  [[nodiscard]] const Losses& losses() const { return decoder_.losses(); }

 private:
  [[nodiscard]] bool decode_one();

  PictureDecoder decoder_;
  FfmpegPtr<AVFrame> picture_;
  std::optional<SteadyTimes> times_;
  std::deque<FfmpegPtr<AVFrame>> ahead_;
  std::optional<Result<bool>> end_;  // end or error from the decoder
};

}  // namespace millrace::video
