// Tells at which packets decoding may begin.
#pragma once

#include "millrace/video/ffmpeg/ffmpeg_handles.h"

namespace millrace::video {

// Whether every picture shown from this packet's on can be decoded without earlier packets. `parameters`
// belong to the packet's stream.
//
// FFmpeg and most containers also flag a packet as key if a gradual refresh begins there: a recovery point
// some pictures before the picture is whole. A decoder started there has to trust the encoder's count of
// those pictures. x264 counts too few if B pictures are references, and then damaged pictures look intact.
// Sources: ITU-T H.264, D.2.8; ITU-T H.265, D.3.8.
[[nodiscard]] bool is_entry(const AVPacket& packet, const AVCodecParameters& parameters);

}  // namespace millrace::video
