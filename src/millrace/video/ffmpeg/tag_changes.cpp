#include "millrace/video/ffmpeg/tag_changes.h"

#include "millrace/video/frame/range_change.h"

#include <fmt/format.h>

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace millrace::video {
namespace {

std::string name_or_code(const char* name, int code) {
  return name != nullptr ? name : fmt::format("{}", code);
}

// Names the code points of H.273 as FFmpeg does.
std::string color_words(const FrameFormat& format) {
  const auto primaries = static_cast<AVColorPrimaries>(format.color_primaries);
  const auto transfer = static_cast<AVColorTransferCharacteristic>(format.color_transfer);
  const auto matrix = static_cast<AVColorSpace>(format.color_matrix);
  return fmt::format("{}/{}/{}", name_or_code(av_color_primaries_name(primaries), format.color_primaries),
                     name_or_code(av_color_transfer_name(transfer), format.color_transfer),
                     name_or_code(av_color_space_name(matrix), format.color_matrix));
}

std::string shape_words(const FrameFormat& format) {
  return format.aspect_numerator > 0
             ? fmt::format("{}:{}", format.aspect_numerator, format.aspect_denominator)
             : "unknown";
}

const char* range_words(const FrameFormat& format) {
  return format.range == ColorRange::full ? "full" : "limited";
}

const char* fields_words(const FrameFormat& format) {
  switch (format.field_order) {
  case FieldOrder::top_first:
    return "top field first";
  case FieldOrder::bottom_first:
    return "bottom field first";
  default:
    return "progressive";
  }
}

}  // namespace

void TagChanges::note(std::int64_t number, const FrameFormat& now, const FrameFormat& like) {
  if (now == like) return;
  if (now.aspect_numerator != like.aspect_numerator || now.aspect_denominator != like.aspect_denominator)
    name(shape_, number, "sample shape", shape_words(now), shape_words(like));
  if (color_words(now) != color_words(like))
    name(color_, number, "colour tags", color_words(now), color_words(like));
  if (are_other_codes(now.range, like.range))
    name(range_, number, "range", fmt::format("{}, converted", range_words(now)), range_words(like));
  if (now.chroma_location != like.chroma_location)
    name(location_, number, "place of chroma samples", fmt::format("{}", now.chroma_location),
         fmt::format("{}", like.chroma_location));
  if (fields_words(now) != fields_words(like) && (now.is_interlaced() || like.is_interlaced()))
    name(fields_, number, "interlaced flag", fields_words(now), fields_words(like));
}

void TagChanges::name(bool& known, std::int64_t number, const char* what, const std::string& now,
                      const std::string& before) {
  if (known) return;
  known = true;
  words_.push_back(fmt::format("{} from frame {} on ({} after {})", what, number, now, before));
}

}  // namespace millrace::video
