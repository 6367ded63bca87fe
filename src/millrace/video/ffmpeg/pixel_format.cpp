#include "millrace/video/ffmpeg/pixel_format.h"

#include <algorithm>
#include <bit>

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace millrace::video {
namespace {

struct Known {
  Chroma chroma;
  int bits;
  AVPixelFormat format;
};

constexpr Known known[] = {
    {Chroma::gray, 8, AV_PIX_FMT_GRAY8},      {Chroma::gray, 9, AV_PIX_FMT_GRAY9},
    {Chroma::gray, 10, AV_PIX_FMT_GRAY10},    {Chroma::gray, 12, AV_PIX_FMT_GRAY12},
    {Chroma::gray, 14, AV_PIX_FMT_GRAY14},    {Chroma::gray, 16, AV_PIX_FMT_GRAY16},
    {Chroma::c420, 8, AV_PIX_FMT_YUV420P},    {Chroma::c420, 9, AV_PIX_FMT_YUV420P9},
    {Chroma::c420, 10, AV_PIX_FMT_YUV420P10}, {Chroma::c420, 12, AV_PIX_FMT_YUV420P12},
    {Chroma::c420, 14, AV_PIX_FMT_YUV420P14}, {Chroma::c420, 16, AV_PIX_FMT_YUV420P16},
    {Chroma::c422, 8, AV_PIX_FMT_YUV422P},    {Chroma::c422, 9, AV_PIX_FMT_YUV422P9},
    {Chroma::c422, 10, AV_PIX_FMT_YUV422P10}, {Chroma::c422, 12, AV_PIX_FMT_YUV422P12},
    {Chroma::c422, 14, AV_PIX_FMT_YUV422P14}, {Chroma::c422, 16, AV_PIX_FMT_YUV422P16},
    {Chroma::c444, 8, AV_PIX_FMT_YUV444P},    {Chroma::c444, 9, AV_PIX_FMT_YUV444P9},
    {Chroma::c444, 10, AV_PIX_FMT_YUV444P10}, {Chroma::c444, 12, AV_PIX_FMT_YUV444P12},
    {Chroma::c444, 14, AV_PIX_FMT_YUV444P14}, {Chroma::c444, 16, AV_PIX_FMT_YUV444P16},
};

bool is_jpeg_name(AVPixelFormat format) {
  return format == AV_PIX_FMT_YUVJ420P || format == AV_PIX_FMT_YUVJ422P || format == AV_PIX_FMT_YUVJ444P ||
         format == AV_PIX_FMT_YUVJ411P || format == AV_PIX_FMT_YUVJ440P;
}

// Whether planes 0 to 2 hold whole native-endian words with the value in the low bits, as in our frames.
bool has_our_planes(const AVPixFmtDescriptor& format, int planes) {
  const bool big_endian = (format.flags & AV_PIX_FMT_FLAG_BE) != 0;
  if ((format.flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM |
                       AV_PIX_FMT_FLAG_FLOAT | AV_PIX_FMT_FLAG_BAYER)) != 0)
    return false;
  for (int index = 0; index < planes; ++index) {
    const AVComponentDescriptor& component = format.comp[index];
    if (component.plane != index || component.offset != 0 || component.shift != 0 ||
        component.step != (component.depth > 8 ? 2 : 1) || component.depth < 8)
      return false;
    if (component.depth > 8 && big_endian != (std::endian::native == std::endian::big)) return false;
  }
  return true;
}

}  // namespace

std::optional<AVPixelFormat> to_ffmpeg(Chroma chroma, int bits) {
  const auto* found = std::ranges::find_if(
      known, [&](const Known& each) { return each.chroma == chroma && each.bits == bits; });
  if (found == std::end(known)) return std::nullopt;
  return found->format;
}

std::optional<PixelMapping> from_ffmpeg(AVPixelFormat format) {
  const AVPixFmtDescriptor* descriptor = av_pix_fmt_desc_get(format);
  if (descriptor == nullptr || (descriptor->flags & AV_PIX_FMT_FLAG_HWACCEL) != 0) return std::nullopt;
  const bool color_model =
      (descriptor->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BAYER)) != 0 ||
      format == AV_PIX_FMT_XYZ12LE || format == AV_PIX_FMT_XYZ12BE;
  PixelMapping mapping;
  if (!color_model && descriptor->nb_components < 3)
    mapping.chroma = Chroma::gray;
  else if (color_model || descriptor->log2_chroma_w == 0)
    mapping.chroma = Chroma::c444;  // 4:4:0 too: its chroma is upsampled
  else if (descriptor->log2_chroma_h == 0)
    mapping.chroma = Chroma::c422;  // 4:1:1 too
  else
    mapping.chroma = Chroma::c420;  // 4:1:0 too

  int depth = 8;
  for (int index = 0; index < descriptor->nb_components; ++index)
    depth = std::max(depth, descriptor->comp[index].depth);
  static constexpr int depths[] = {8, 9, 10, 12, 14};
  const auto* fitting = std::ranges::find_if(depths, [depth](int bits) { return bits >= depth; });
  mapping.bits = fitting == std::end(depths) ? 16 : *fitting;

  const int planes = plane_count(mapping.chroma);
  const bool same_size = planes == 1 || (descriptor->log2_chroma_w == (chroma_step_x(mapping.chroma) >> 1) &&
                                         descriptor->log2_chroma_h == (chroma_step_y(mapping.chroma) >> 1));
  mapping.same_planes =
      !color_model && same_size && depth == mapping.bits && has_our_planes(*descriptor, planes);
  mapping.full_range_name =
      is_jpeg_name(format) || format == AV_PIX_FMT_MONOWHITE || format == AV_PIX_FMT_MONOBLACK;
  mapping.rgb = color_model;
  mapping.same_sampling = !color_model && same_size;
  return mapping;
}

}  // namespace millrace::video
