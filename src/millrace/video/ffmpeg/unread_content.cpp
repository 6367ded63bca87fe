#include "millrace/video/ffmpeg/unread_content.h"

#include "millrace/video/ffmpeg/lasting_tags.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace millrace::video {
namespace {

constexpr std::array kinds{
    std::pair(AVMEDIA_TYPE_VIDEO, "further video"), std::pair(AVMEDIA_TYPE_AUDIO, "audio"),
    std::pair(AVMEDIA_TYPE_SUBTITLE, "subtitles"), std::pair(AVMEDIA_TYPE_DATA, "data"),
    std::pair(AVMEDIA_TYPE_ATTACHMENT, "attachments")};

// VP8 and VP9 in Matroska store alpha as a second picture per frame, which FFmpeg's own decoders ignore.
bool has_alpha_beside(const AVStream& stream) {
  const AVDictionaryEntry* const mode = av_dict_get(stream.metadata, "alpha_mode", nullptr, 0);
  return mode != nullptr && std::string_view(mode->value) != "0";
}

bool has_alpha(AVPixelFormat format) {
  const AVPixFmtDescriptor* const about = av_pix_fmt_desc_get(format);
  return about != nullptr && (about->flags & AV_PIX_FMT_FLAG_ALPHA) != 0 &&
         (about->flags & AV_PIX_FMT_FLAG_PAL) == 0;
}

}  // namespace

std::vector<std::string> unread_content(const AVFormatContext& container, const AVStream& stream,
                                        const AVFrame& picture, bool other_streams_taken) {
  std::vector<std::string> result;
  for (const auto& [kind, name] : kinds) {
    if (other_streams_taken) break;
    int count = 0;
    for (unsigned i = 0; i < container.nb_streams; ++i)
      count += container.streams[i] != &stream && container.streams[i]->codecpar->codec_type == kind ? 1 : 0;
    if (count > 0) result.push_back(fmt::format("{} stream{} of {}", count, count == 1 ? "" : "s", name));
  }
  if (!other_streams_taken)
    std::ranges::copy(chapters_and_tags(container.nb_chapters, container.metadata),
                      std::back_inserter(result));
  if (has_alpha(static_cast<AVPixelFormat>(picture.format)) || has_alpha_beside(stream))
    result.emplace_back("alpha");
  return result;
}

}  // namespace millrace::video
