// Inspects H.264 packets without decoding them.
#pragma once

#include "millrace/video/ffmpeg/ffmpeg_handles.h"

namespace millrace::video {

// Whether the packet begins an IDR picture. Nothing after an IDR picture refers to anything before it:
// neither to pictures nor to commands that drop one. Other keyframes (open groups of pictures) have only a
// recovery point. `parameters` belong to the packet's stream. Returns false for damaged parameters or
// packets.
// Source: ITU-T H.264, 7.3.1 and annex B; ISO/IEC 14496-15, 5.3.3.
[[nodiscard]] bool begins_idr_picture(const AVPacket& packet, const AVCodecParameters& parameters);

}  // namespace millrace::video
