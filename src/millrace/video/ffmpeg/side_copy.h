// SideCopy: copies the side streams of an input into a file that is being written.
#pragma once

#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/ffmpeg/hidden_samples.h"
#include "millrace/video/ffmpeg/lost_description.h"
#include "millrace/video/ffmpeg/side_streams.h"
#include "millrace/video/ffmpeg/untimed_sound.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::video {

// Not thread-safe: use it under the lock of its muxer. Return codes are FFmpeg's.
class SideCopy {
 public:
  // `suffix` names the container in messages: ".mp4".
  SideCopy(std::shared_ptr<SideStreams> from, std::string_view suffix)
      : from_(std::move(from)), suffix_(suffix) {}

  // Call it before the header is written. Adds those streams of the input that `muxer` can hold, in input
  // order, and one for the frames, which it returns. Returns null if memory runs out. Copies chapters and
  // metadata.
  [[nodiscard]] AVStream* add_streams(AVFormatContext& muxer);

  // Sets the offset from the input's clock to the output's.
  void set_shift(std::int64_t shift, AVRational time_base);
  // Writes everything decoded up to `time`, in units of the time base on the output's clock. Without a time,
  // writes everything available.
  [[nodiscard]] int write_until(AVFormatContext& muxer, std::optional<std::int64_t> time,
                                AVRational time_base);
  // Writes some waiting packets if there are too many. Does nothing before set_shift().
  [[nodiscard]] int relieve(AVFormatContext& muxer);
  // Drops everything that is shown at that time or later.
  void end_at(std::int64_t time, AVRational time_base) {
    end_ = av_rescale_q(time, time_base, AV_TIME_BASE_Q);
  }

  // Reads the complete file back, to find what its container did not keep. size: in bytes.
  void compare(const AVFormatContext& muxer, RandomBytes& file, std::uint64_t size) {
    std::ranges::copy(lost_description(muxer, file, size, names_, suffix_), std::back_inserter(not_kept_));
  }

  [[nodiscard]] SideStreams& source() { return *from_; }
  // The content missing in the output, and why.
  [[nodiscard]] std::vector<std::string> not_kept() const;

 private:
  struct Copy {
    AVStream* stream = nullptr;  // null: no packet of it is written
    std::optional<std::int64_t> last_dts;
    std::int64_t last_duration = 0;
    std::int64_t shortest = 0;                    // time from one packet to the next
    std::int64_t delay = 0;                       // decoder delay, if the container includes it in times
    std::optional<std::int64_t> hidden_at_start;  // samples, as the first packet says
    FfmpegPtr<AVPacket> starter;                  // the last packet before 0, if the first one is silent
    std::optional<UntimedSound> untimed;          // if the container stores no times for it
  };

  [[nodiscard]] bool can_hide(const AVFormatContext& muxer, const Copy& copy, const AVPacket& data,
                              const HiddenSamples& hidden) const;
  [[nodiscard]] int write(AVFormatContext& muxer, SideStreams::Packet packet);
  [[nodiscard]] int write_in_step(AVFormatContext& muxer, const SideStreams::Stream& from, Copy& copy,
                                  AVPacket& data);
  [[nodiscard]] int write_silence(AVFormatContext& muxer, Copy& copy, std::int64_t time,
                                  std::int64_t samples) const;
  [[nodiscard]] int write_data(AVFormatContext& muxer, const SideStreams::Stream& from, Copy& copy,
                               AVPacket& data);
  void give_up(const SideStreams::Stream& from, Copy& copy, std::int64_t time, const std::string& why);
  void add_chapters(AVFormatContext& muxer);
  void describe_untimed(std::vector<std::string>& words) const;

  std::shared_ptr<SideStreams> from_;
  std::string suffix_;
  std::vector<Copy> copies_;
  std::map<int, std::string> names_;  // of the output's streams, by index
  std::vector<std::string> not_kept_;
  bool shift_known_ = false;
  std::int64_t shift_ = 0;  // microseconds
  std::int64_t exact_shift_ = 0;
  AVRational shift_base_{1, 1};
  std::optional<std::int64_t> end_;  // microseconds
};

}  // namespace millrace::video
