// Converts colour tags between FFmpeg's pictures and our formats.
#pragma once

#include "millrace/video/ffmpeg/ffmpeg_handles.h"
#include "millrace/video/ffmpeg/pixel_format.h"
#include "millrace/video/frame/frame.h"

namespace millrace::video {

// Fills in the colour tags of a format whose size is set. Y'CbCr keeps the picture's tags. RGB becomes
// limited-range Y'CbCr, which every player expects of video. Its matrix is the one that players assume for
// untagged video of that size: BT.709 from 1280 columns or 577 rows on, else BT.601 (BT.2020 for wide-gamut
// pictures). Range and matrix are both tagged, so players that honour tags and players that ignore them
// agree.
void read_color_tags(const AVFrame& picture, const PixelMapping& mapping, FrameFormat& format);

// The field order of the picture, or else of its stream.
[[nodiscard]] FieldOrder read_field_order(const AVFrame& picture, AVFieldOrder of_stream);
[[nodiscard]] AVFieldOrder to_ffmpeg(FieldOrder order);

// Sets the encoder's colour tags from the format.
void write_color_tags(const FrameFormat& format, AVCodecContext& encoder);

// Also tags the picture, because some encoders look there.
void write_color_tags(const AVCodecContext& encoder, AVFrame& picture);

// Whether primaries, transfer or matrix is known.
[[nodiscard]] bool has_color_description(const FrameFormat& format);

}  // namespace millrace::video
