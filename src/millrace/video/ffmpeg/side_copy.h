// SideCopy: the side streams of an input as streams of a file that is being written.
#pragma once

#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/ffmpeg/side_streams.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::video {

// Not thread-safe: used under the lock of its muxer. Codes are FFmpeg's.
class SideCopy {
 public:
  // `suffix`: what the container is called in messages, ".mp4".
  SideCopy(std::shared_ptr<SideStreams> from, std::string_view suffix)
      : from_(std::move(from)), suffix_(suffix) {}

  // Before the header is written: makes the streams of `muxer`, in the order of the input, those that it can
  // hold, and one for the frames, which is the result; null where memory is out. Copies chapters and
  // metadata.
  [[nodiscard]] AVStream* add_streams(AVFormatContext& muxer);

  // What moves all times from the input's clock to the output's.
  void set_shift(std::int64_t shift, AVRational time_base);
  // Writes what is decoded at `time` at the latest, in units of the time base on the output's clock; without
  // a time all that is there.
  [[nodiscard]] int write_until(AVFormatContext& muxer, std::optional<std::int64_t> time,
                                AVRational time_base);
  // Some of what waits, where that is too much; nothing before set_shift().
  [[nodiscard]] int relieve(AVFormatContext& muxer);
  // Nothing that is shown from then on is written any more.
  void end_at(std::int64_t time, AVRational time_base) {
    end_ = av_rescale_q(time, time_base, AV_TIME_BASE_Q);
  }

  [[nodiscard]] SideStreams& source() { return *from_; }
  // What is not in the output, and why.
  [[nodiscard]] std::vector<std::string> not_kept() const;

 private:
  struct Copy {
    AVStream* stream = nullptr;  // none: it cannot be held
    std::optional<std::int64_t> last_dts;
    std::int64_t last_duration = 0;
    std::int64_t delay = 0;  // what a decoder takes to begin, where the container counts it in
  };

  [[nodiscard]] AVStream* add_stream(AVFormatContext& muxer, const SideStreams::Stream& stream);
  [[nodiscard]] int write(AVFormatContext& muxer, SideStreams::Packet packet);
  void add_chapters(AVFormatContext& muxer);

  std::shared_ptr<SideStreams> from_;
  std::string suffix_;
  std::vector<Copy> copies_;
  std::vector<std::string> not_kept_;
  bool shift_known_ = false;
  std::int64_t shift_ = 0;  // microseconds
  std::int64_t exact_shift_ = 0;
  AVRational shift_base_{1, 1};
  std::optional<std::int64_t> end_;  // microseconds
};

}  // namespace millrace::video
