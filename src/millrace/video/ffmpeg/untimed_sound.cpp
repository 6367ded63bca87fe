#include "millrace/video/ffmpeg/untimed_sound.h"

#include "millrace/video/ffmpeg/shown_packets.h"

#include <algorithm>
#include <string_view>

namespace millrace::video {
namespace {

// Muxers of .mov and .mp4 write a single duration for all samples of these codecs.
bool stores_no_times(const AVFormatContext& muxer, const AVCodecParameters& codec) {
  const std::string_view container = muxer.oformat->name;
  return (container == "mov" || container == "mp4") && codec.sample_rate > 0 && bare_sample_bytes(codec) > 0;
}

// One channel's sample of silence, as FFmpeg's encoders write it.
std::vector<std::uint8_t> silent_sample(AVCodecID codec) {
  std::vector<std::uint8_t> sample(static_cast<std::size_t>(std::max(1, av_get_bits_per_sample(codec) / 8)));
  switch (codec) {
  case AV_CODEC_ID_PCM_ALAW:
    sample.front() = 0xD5;
    break;
  case AV_CODEC_ID_PCM_MULAW:
    sample.front() = 0xFF;
    break;
  case AV_CODEC_ID_PCM_U8:
  case AV_CODEC_ID_PCM_U16BE:
  case AV_CODEC_ID_PCM_U24BE:
  case AV_CODEC_ID_PCM_U32BE:
    sample.front() = 0x80;
    break;
  case AV_CODEC_ID_PCM_U16LE:
  case AV_CODEC_ID_PCM_U24LE:
  case AV_CODEC_ID_PCM_U32LE:
    sample.back() = 0x80;
    break;
  default:  // signed numbers and floating point
    break;
  }
  return sample;
}

}  // namespace

std::optional<UntimedSound> UntimedSound::in(const AVFormatContext& muxer, const AVCodecParameters& codec,
                                             AVRational precision) {
  if (!stores_no_times(muxer, codec)) return std::nullopt;
  // Recorders give times that vary a little around the true ones. Nobody hears 10 ms.
  const std::int64_t unheard = codec.sample_rate / 100;
  const std::int64_t rounding = precision.num > 0 && precision.den > 0
                                    ? av_rescale_q(1, precision, {1, codec.sample_rate}) + 1
                                    : unheard;
  return UntimedSound(std::max(unheard, rounding), bare_sample_bytes(codec), silent_sample(codec.codec_id));
}

UntimedSound::Step UntimedSound::place(std::int64_t time, std::int64_t samples) {
  const std::int64_t begin = next_.value_or(time);
  const std::int64_t off = time - begin;
  Step step{.time = begin};
  if (off > tolerance_) step.silence = off;
  if (off < -tolerance_) step.repeated = std::min(-off, samples);
  filled_ += step.silence;
  left_out_ += step.repeated;
  next_ = begin + step.silence + samples - step.repeated;
  return step;
}

std::vector<std::uint8_t> UntimedSound::silence(std::int64_t samples) const {
  std::vector<std::uint8_t> bytes;
  bytes.reserve(static_cast<std::size_t>(samples * bytes_));
  while (std::ssize(bytes) < samples * bytes_)
    bytes.insert(bytes.end(), silent_.begin(), silent_.end());
  return bytes;
}

}  // namespace millrace::video
