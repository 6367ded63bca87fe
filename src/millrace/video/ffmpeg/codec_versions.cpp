// The versions of the codecs in use.
#include "millrace/base/process/loaded_object.h"
#include "millrace/video/ffmpeg/linked_backend.h"

#include <bit>

#include <fmt/format.h>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libswscale/swscale.h>
}

namespace millrace::video {
namespace {

std::string version_text(unsigned version) {
  return fmt::format("{}.{}.{}", AV_VERSION_MAJOR(version), AV_VERSION_MINOR(version),
                     AV_VERSION_MICRO(version));
}

}  // namespace

std::string LinkedBackend::codec_versions() const {
  const std::string codecs = version_text(avcodec_version());
  // libx264 has no version function. It is loaded along with libavcodec, so its file name and build id
  // identify it.
  const auto x264 = loaded_object_named("libx264.");
  const auto own = loaded_object_of(std::bit_cast<const void*>(&version_text));
  return fmt::format("FFmpeg {} ({}), libavcodec {}, libavformat {}, libswscale {}, {}", av_version_info(),
                     own ? own->build_id : "", codecs, version_text(avformat_version()),
                     version_text(swscale_version()),
                     x264 ? fmt::format("{} {}", x264->file, x264->build_id) : "no libx264");
}

}  // namespace millrace::video
