#include "millrace/video/ffmpeg/h264_pictures.h"

#include "millrace/video/ffmpeg/nal_units.h"

namespace millrace::video {

bool begins_idr_picture(const AVPacket& packet, const AVCodecParameters& parameters) {
  constexpr int non_idr_slice = 1;
  constexpr int idr_slice = 5;
  NalUnits units(packet, parameters);
  for (auto unit = units.next(); !unit.empty(); unit = units.next()) {
    const int type = unit.front() & 0x1F;
    if (type >= non_idr_slice && type <= idr_slice) return type == idr_slice;
  }
  return false;
}

}  // namespace millrace::video
