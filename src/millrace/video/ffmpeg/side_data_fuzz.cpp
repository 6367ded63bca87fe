// Side data of any content and length must give a valid rotation, and encoder options that parse or none.
#include "millrace/video/ffmpeg/side_data.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

extern "C" {
#include <libavformat/avformat.h>
}

// NOLINTNEXTLINE(readability-identifier-naming): the name libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace::video;
  Properties properties;
  const std::vector<std::uint8_t> bytes(data, data + size);
  for (const AVPacketSideDataType type :
       {AV_PKT_DATA_DISPLAYMATRIX, AV_PKT_DATA_MASTERING_DISPLAY_METADATA, AV_PKT_DATA_CONTENT_LIGHT_LEVEL,
        AV_PKT_DATA_STEREO3D, AV_PKT_DATA_SPHERICAL})
    properties[av_packet_side_data_name(type)] = bytes;
  static_cast<void>(orientation_of(properties));
  const int degrees = rotation_degrees(properties);
  if (degrees < 0 || degrees >= 360) std::abort();
  const std::string words = x265_words(properties);
  if (words.find_first_not_of("abcdefghijklmnopqrstuvwxyz-=:(),GBRWPL0123456789") != std::string::npos)
    std::abort();
  if (words.find("-9") != std::string::npos || words.find(",-") != std::string::npos ||
      words.find("(-") != std::string::npos)
    std::abort();
  AVFormatContext* context = nullptr;
  if (avformat_alloc_output_context2(&context, nullptr, "mp4", nullptr) < 0) return 0;
  const MuxerPtr muxer(context);
  if (AVStream* stream = avformat_new_stream(context, nullptr))
    static_cast<void>(write_stream_properties(properties, *stream, *context->oformat));
  return 0;
}
