// The containers and codecs that millrace can write.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/video/frame/frame_writer.h"

#include <span>
#include <string>
#include <string_view>

namespace millrace::video {

// All strings are FFmpeg's names unless noted.
struct Container {
  std::string_view suffix;  // file name suffix: ".mp4"
  const char* muxer;
  VideoCodec codec;  // default codec
  // Used if the default cannot encode the frames or is missing; automatic: no fallback.
  VideoCodec fallback = VideoCodec::automatic;
  bool iso = false;       // MPEG-4 family: times in few bits, index at the end
  bool matroska = false;  // Matroska or WebM
};

[[nodiscard]] std::span<const Container> containers();
// Chooses by file name; null if none fits.
[[nodiscard]] const Container* container_of(std::string_view file);
// Refuses an existing path that is not a regular file if the container must seek back to finish its header.
[[nodiscard]] Status check_destination(const Container& container, const std::string& output);

struct Codec {
  VideoCodec codec;
  std::string_view name;   // our name: "h264"
  std::string_view title;  // for display: "H.264"
  const char* encoder;
  // Constant quality: the highest (worst) value, 0 if the codec has none, and the value that is visually
  // lossless.
  int most_crf = 0;
  int default_crf = 0;
  const char* preset_option = nullptr;  // null: no presets
  const char* default_preset = nullptr;
  std::span<const std::string_view> presets;
  bool bitrate = false;  // whether a bit rate may be set
};

[[nodiscard]] std::span<const Codec> codecs();
// Accepts any codec but `automatic`.
[[nodiscard]] const Codec& kind_of(VideoCodec codec);
// The requested codec, or the container's default.
[[nodiscard]] const Codec& codec_for(const Container& container, VideoCodec asked);

}  // namespace millrace::video
