// What a packet of H.264 says of itself, without decoding it.
#pragma once

#include "millrace/video/ffmpeg/ffmpeg_handles.h"

namespace millrace::video {

// Whether it begins an IDR picture, behind which nothing refers to what came before: neither pictures nor the
// order to forget one. Other key pictures (open groups of pictures) have a recovery point alone. `parameters`
// are its stream's. Also if they and the packet are damaged: false.
// Source: ITU-T H.264, 7.3.1 and annex B; ISO/IEC 14496-15, 5.3.3.
[[nodiscard]] bool begins_idr_picture(const AVPacket& packet, const AVCodecParameters& parameters);

}  // namespace millrace::video
