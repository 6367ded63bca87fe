// TimedPictures: the good pictures of a video, each shown later than the one before.
#pragma once

#include "millrace/video/ffmpeg/picture_decoder.h"
#include "millrace/video/frame/steady_times.h"

#include <cstdint>
#include <deque>
#include <optional>

namespace millrace::video {

// Like PictureDecoder, from which it takes them. Where a time is not as it should be, it decodes some
// pictures ahead, to see what comes.
class TimedPictures {
 public:
  // `demuxer` outlives this object.
  TimedPictures(Demuxer& demuxer, const ReaderOptions& options) : decoder_(demuxer, options) {}

  [[nodiscard]] Status open() { return decoder_.open(); }
  // From the picture at hand on; before, times are those of the file. duration: of a frame, in units of time.
  void put_in_order(std::int64_t duration);

  // The next good picture; false at the end.
  [[nodiscard]] Result<bool> next();
  // Its best_effort_timestamp is when it is shown. Valid until the next call of next().
  [[nodiscard]] AVFrame& picture() { return *picture_; }

  [[nodiscard]] AVRational coded_frame_rate() const { return decoder_.coded_frame_rate(); }
  // Up to the last picture that is decoded.
  [[nodiscard]] const Losses& losses() const { return decoder_.losses(); }

 private:
  [[nodiscard]] bool decode_one();

  PictureDecoder decoder_;
  FfmpegPtr<AVFrame> picture_;
  std::optional<SteadyTimes> times_;
  std::deque<FfmpegPtr<AVFrame>> ahead_;
  std::optional<Result<bool>> end_;  // what the decoder said instead of a picture
};

}  // namespace millrace::video
