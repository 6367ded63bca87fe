#include "millrace/video/coded/coded_kinds.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

namespace millrace::video {
namespace {

constexpr std::array<Container, 6> all_containers{{
    {.suffix = ".mp4", .muxer = "mp4", .codec = VideoCodec::h264, .iso = true},
    {.suffix = ".mkv",
     .muxer = "matroska",
     .codec = VideoCodec::h264,
     .fallback = VideoCodec::ffv1,
     .matroska = true},
    {.suffix = ".mov", .muxer = "mov", .codec = VideoCodec::h264, .iso = true},
    {.suffix = ".webm", .muxer = "webm", .codec = VideoCodec::vp9, .matroska = true},
    {.suffix = ".gif", .muxer = "gif", .codec = VideoCodec::gif},
    {.suffix = ".yuv", .muxer = "rawvideo", .codec = VideoCodec::rawvideo},
}};

constexpr std::array<std::string_view, 10> x26x_presets{"ultrafast", "superfast", "veryfast", "faster",
                                                        "fast",      "medium",    "slow",     "slower",
                                                        "veryslow",  "placebo"};
constexpr std::array<std::string_view, 14> svt_presets{"0", "1", "2", "3",  "4",  "5",  "6",
                                                       "7", "8", "9", "10", "11", "12", "13"};
constexpr std::array<std::string_view, 9> vp9_presets{"0", "1", "2", "3", "4", "5", "6", "7", "8"};
constexpr std::array<std::string_view, 6> prores_profiles{"proxy", "lt", "standard", "hq", "4444", "4444xq"};

constexpr std::array<Codec, 8> all_codecs{{
    {.codec = VideoCodec::h264,
     .name = "h264",
     .title = "H.264",
     .encoder = "libx264",
     .most_crf = 51,
     .default_crf = 18,
     .preset_option = "preset",
     .default_preset = "veryfast",
     .presets = x26x_presets,
     .bitrate = true},
    {.codec = VideoCodec::h265,
     .name = "h265",
     .title = "H.265",
     .encoder = "libx265",
     .most_crf = 51,
     .default_crf = 20,
     .preset_option = "preset",
     .default_preset = "fast",
     .presets = x26x_presets,
     .bitrate = true},
    {.codec = VideoCodec::av1,
     .name = "av1",
     .title = "AV1",
     .encoder = "libsvtav1",
     .most_crf = 63,
     .default_crf = 25,
     .preset_option = "preset",
     .default_preset = "8",
     .presets = svt_presets,
     .bitrate = true},
    {.codec = VideoCodec::vp9,
     .name = "vp9",
     .title = "VP9",
     .encoder = "libvpx-vp9",
     .most_crf = 63,
     .default_crf = 24,
     .preset_option = "cpu-used",
     .default_preset = "4",
     .presets = vp9_presets,
     .bitrate = true},
    {.codec = VideoCodec::ffv1, .name = "ffv1", .title = "FFV1", .encoder = "ffv1"},
    {.codec = VideoCodec::prores,
     .name = "prores",
     .title = "ProRes",
     .encoder = "prores_ks",
     .preset_option = "profile",
     .default_preset = nullptr,
     .presets = prores_profiles},
    {.codec = VideoCodec::gif, .name = "gif", .title = "GIF", .encoder = "gif"},
    {.codec = VideoCodec::rawvideo, .name = "rawvideo", .title = "raw video", .encoder = "rawvideo"},
}};

}  // namespace

std::span<const Container> containers() { return all_containers; }

const Container* container_of(std::string_view file) {
  const auto* found = std::ranges::find_if(
      all_containers, [file](const Container& each) { return file.ends_with(each.suffix); });
  return found == all_containers.end() ? nullptr : found;
}

Status check_destination(const Container& container, const std::string& output) {
  std::error_code error;
  const auto status = std::filesystem::status(output, error);
  if (!container.iso || !std::filesystem::exists(status) || std::filesystem::is_regular_file(status) ||
      std::filesystem::is_directory(status))
    return {};
  return usage_error("{}: {} cannot be written to a pipe or device; use .mkv", output, container.suffix);
}

std::span<const Codec> codecs() { return all_codecs; }

const Codec& kind_of(VideoCodec codec) { return *std::ranges::find(all_codecs, codec, &Codec::codec); }

const Codec& codec_for(const Container& container, VideoCodec asked) {
  return kind_of(asked == VideoCodec::automatic ? container.codec : asked);
}

}  // namespace millrace::video
