// What pictures of FFmpeg say about their colours, and formats of ours.
#pragma once

#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/ffmpeg/pixel_format.h"
#include "millrace/video/frame/frame.h"

namespace millrace::video {

// Fills in the colour tags of a format that already has its size. Y'CbCr keeps what the picture says. RGB
// becomes Y'CbCr of limited range, what every player expects of video, by the matrix that players assume of
// untagged video of that size: BT.709 from 1280 columns or 577 rows on, else BT.601 (of wide-gamut pictures
// BT.2020); both are tagged. So a player that heeds the tags and one that does not agree.
void read_color_tags(const AVFrame& picture, const PixelMapping& mapping, FrameFormat& format);

// In which order fields are shown: as the picture says it, or else its stream.
[[nodiscard]] FieldOrder read_field_order(const AVFrame& picture, AVFieldOrder of_stream);
[[nodiscard]] AVFieldOrder to_ffmpeg(FieldOrder order);

// The other way round, for an encoder of pictures.
void write_color_tags(const FrameFormat& format, AVCodecContext& encoder);

// The same for one of its pictures, where some encoders look.
void write_color_tags(const AVCodecContext& encoder, AVFrame& picture);

// Whether any of primaries, transfer and matrix is known.
[[nodiscard]] bool has_color_description(const FrameFormat& format);

}  // namespace millrace::video
