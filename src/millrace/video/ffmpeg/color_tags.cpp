#include "millrace/video/ffmpeg/color_tags.h"

#include "millrace/video/ffmpeg/versions.h"

namespace millrace::video {
namespace {

AVColorSpace matrix_for_rgb(const AVFrame& picture) {
  if (picture.color_primaries == AVCOL_PRI_BT2020) return AVCOL_SPC_BT2020_NCL;
  const bool high_definition = picture.width >= 1280 || picture.height > 576;
  return high_definition ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M;
}

ColorRange range_of(const AVFrame& picture, const PixelMapping& mapping) {
  // If the range changes mid-stream, FFmpeg's H.264 decoder keeps the pixel format of the first picture.
  if (picture.color_range == AVCOL_RANGE_MPEG) return ColorRange::limited;
  const bool full = mapping.full_range_name || picture.color_range == AVCOL_RANGE_JPEG;
  return full ? ColorRange::full : ColorRange::unspecified;
}

}  // namespace

void read_color_tags(const AVFrame& picture, const PixelMapping& mapping, FrameFormat& format) {
  format.range = mapping.rgb ? ColorRange::limited : range_of(picture, mapping);
  format.color_primaries = picture.color_primaries;
  format.color_transfer = picture.color_trc;
  format.color_matrix = mapping.rgb ? matrix_for_rgb(picture) : picture.colorspace;
  // Resampled chroma has other locations.
  if (mapping.same_sampling && mapping.chroma == Chroma::c420)
    format.chroma_location = picture.chroma_location;
}

FieldOrder read_field_order(const AVFrame& picture, AVFieldOrder of_stream) {
  if (is_interlaced(picture))
    return is_top_field_first(picture) ? FieldOrder::top_first : FieldOrder::bottom_first;
  switch (of_stream) {
  case AV_FIELD_TT:
  case AV_FIELD_BT:
    return FieldOrder::top_first;
  case AV_FIELD_BB:
  case AV_FIELD_TB:
    return FieldOrder::bottom_first;
  case AV_FIELD_PROGRESSIVE:
    return FieldOrder::progressive;
  default:
    return FieldOrder::unspecified;
  }
}

AVFieldOrder to_ffmpeg(FieldOrder order) {
  switch (order) {
  case FieldOrder::progressive:
    return AV_FIELD_PROGRESSIVE;
  case FieldOrder::top_first:
    return AV_FIELD_TT;
  case FieldOrder::bottom_first:
    return AV_FIELD_BB;
  case FieldOrder::unspecified:
    break;
  }
  return AV_FIELD_UNKNOWN;
}

void write_color_tags(const FrameFormat& format, AVCodecContext& encoder) {
  switch (format.range) {
  case ColorRange::unspecified:
    encoder.color_range = AVCOL_RANGE_UNSPECIFIED;
    break;
  case ColorRange::limited:
    encoder.color_range = AVCOL_RANGE_MPEG;
    break;
  case ColorRange::full:
    encoder.color_range = AVCOL_RANGE_JPEG;
    break;
  }
  encoder.color_primaries = static_cast<AVColorPrimaries>(format.color_primaries);
  encoder.color_trc = static_cast<AVColorTransferCharacteristic>(format.color_transfer);
  encoder.colorspace = static_cast<AVColorSpace>(format.color_matrix);
  encoder.chroma_sample_location = static_cast<AVChromaLocation>(format.chroma_location);
}

void write_color_tags(const AVCodecContext& encoder, AVFrame& picture) {
  picture.color_range = encoder.color_range;
  picture.color_primaries = encoder.color_primaries;
  picture.color_trc = encoder.color_trc;
  picture.colorspace = encoder.colorspace;
  picture.chroma_location = encoder.chroma_sample_location;
}

bool has_color_description(const FrameFormat& format) {
  return format.color_primaries != AVCOL_PRI_UNSPECIFIED || format.color_transfer != AVCOL_TRC_UNSPECIFIED ||
         format.color_matrix != AVCOL_SPC_UNSPECIFIED;
}

}  // namespace millrace::video
