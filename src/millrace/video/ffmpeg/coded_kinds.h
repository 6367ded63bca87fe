// The containers and codecs that can be written.
#pragma once

#include "millrace/base/result.h"
#include "millrace/video/frame/frame_writer.h"

#include <span>
#include <string>
#include <string_view>

namespace millrace::video {

// All text is FFmpeg's unless said otherwise.
struct Container {
  std::string_view suffix;  // of files: ".mp4"
  const char* muxer;
  VideoCodec codec;  // where none is asked for
  // Where that one cannot encode the frames, or is missing; automatic: there is no other.
  VideoCodec fallback = VideoCodec::automatic;
  bool iso = false;       // of MPEG-4's family: times in few bits, an index at the end
  bool matroska = false;  // or WebM
};

[[nodiscard]] std::span<const Container> containers();
// By the name of a file; null where none.
[[nodiscard]] const Container* container_of(std::string_view file);
// Refuses what is there and is no file, where the container is finished at its beginning.
[[nodiscard]] Status check_destination(const Container& container, const std::string& output);

struct Codec {
  VideoCodec codec;
  std::string_view name;   // of ours: "h264"
  std::string_view title;  // "H.264"
  const char* encoder;
  // Constant quality: the highest value, which is the worst; 0 where there is none. And what looks like the
  // original.
  int most_crf = 0;
  int default_crf = 0;
  const char* preset_option = nullptr;  // none: it has no presets
  const char* default_preset = nullptr;
  std::span<const std::string_view> presets;
  bool bitrate = false;  // may be asked for
};

[[nodiscard]] std::span<const Codec> codecs();
// Of any but `automatic`.
[[nodiscard]] const Codec& kind_of(VideoCodec codec);
// The one that was asked for, or else the usual one.
[[nodiscard]] const Codec& codec_for(const Container& container, VideoCodec asked);

}  // namespace millrace::video
