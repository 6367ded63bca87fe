// UntimedSound: keeps sound in step with the video in a container that stores no times for it.
//
//   auto untimed = UntimedSound::in(muxer, codec, precision);  // none: the container stores times
//   const UntimedSound::Step step = untimed->place(time, samples);
//   // Write step.silence samples of silence first, and leave out the packet's first step.repeated samples.
#pragma once

#include "millrace/video/ffmpeg/ffmpeg_handles.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace millrace::video {

// .mov and .mp4 play uncompressed sound sample after sample. A gap would let all later sound play too early,
// and two packets for the same time would let it play too late. Times here are in samples.
class UntimedSound {
 public:
  struct Step {
    std::int64_t time = 0;      // at which the silence begins, or the packet if there is none
    std::int64_t silence = 0;   // samples
    std::int64_t repeated = 0;  // samples of the packet whose time is already taken
  };

  // None if `muxer` stores the times of this codec's packets. precision: the unit of the times given.
  [[nodiscard]] static std::optional<UntimedSound> in(const AVFormatContext& muxer,
                                                      const AVCodecParameters& codec, AVRational precision);

  // Decides where the next packet goes. Inaudible differences, such as those from rounded times, stay.
  [[nodiscard]] Step place(std::int64_t time, std::int64_t samples);
  [[nodiscard]] std::vector<std::uint8_t> silence(std::int64_t samples) const;

  [[nodiscard]] int bytes_per_sample() const { return bytes_; }
  // Sums of all steps, in samples.
  [[nodiscard]] std::int64_t filled() const { return filled_; }
  [[nodiscard]] std::int64_t left_out() const { return left_out_; }

 private:
  UntimedSound(std::int64_t tolerance, int bytes, std::vector<std::uint8_t> silent)
      : tolerance_(tolerance), bytes_(bytes), silent_(std::move(silent)) {}

  std::int64_t tolerance_;
  int bytes_;                         // of a sample of all channels
  std::vector<std::uint8_t> silent_;  // one channel's sample
  std::optional<std::int64_t> next_;  // where the next packet should begin
  std::int64_t filled_ = 0;
  std::int64_t left_out_ = 0;
};

}  // namespace millrace::video
