#include "millrace/video/y4m/y4m_header.h"

#include "millrace/base/text/parse_number.h"

#include <optional>
#include <utility>

namespace millrace::video {
namespace {

constexpr std::string_view magic = "YUV4MPEG2";

Result<int> parse_dimension(std::string_view text, std::string_view what) {
  const std::optional<int> value = parse_number<int>(text);
  if (!value || *value < 1 || *value > max_dimension)
    return failure("{} '{}' in the y4m header is not a number from 1 to {}", what, text, max_dimension);
  return *value;
}

// Parses "num:den" with neither negative.
std::optional<std::pair<int, int>> parse_ratio(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::optional<int> numerator = parse_number<int>(text.substr(0, colon));
  const std::optional<int> denominator = parse_number<int>(text.substr(colon + 1));
  if (!numerator || !denominator || *numerator < 0 || *denominator < 0) return std::nullopt;
  return std::pair(*numerator, *denominator);
}

struct Sampling {
  Chroma chroma;
  int bits;
  int location = 0;  // see FrameFormat::chroma_location
};

// Names of 8-bit 4:2:0 by chroma sample location. Programs that do not know the location write 420jpeg, so
// that name means unspecified.
constexpr std::pair<std::string_view, int> siting_names[] = {
    {"420jpeg", 0}, {"420mpeg2", 1}, {"420paldv", 3}};

std::optional<Sampling> parse_sampling(std::string_view text) {
  for (const auto& [name, location] : siting_names)
    if (text == name) return Sampling{Chroma::c420, 8, location};
  static constexpr std::pair<std::string_view, Chroma> names[] = {
      {"420", Chroma::c420}, {"422", Chroma::c422}, {"444", Chroma::c444}, {"mono", Chroma::gray}};
  for (const auto& [name, chroma] : names) {
    if (!text.starts_with(name)) continue;
    std::string_view rest = text.substr(name.size());
    if (rest.empty()) return Sampling{chroma, 8};
    if (chroma != Chroma::gray) {
      if (!rest.starts_with('p')) return std::nullopt;
      rest.remove_prefix(1);
    }
    const std::optional<int> bits = parse_number<int>(rest);
    if (!bits || *bits < 8 || *bits > 16) return std::nullopt;
    return Sampling{chroma, *bits};
  }
  return std::nullopt;
}

std::string sampling_name(const FrameFormat& format) {
  switch (format.chroma) {
  case Chroma::gray:
    return format.bits == 8 ? "mono" : fmt::format("mono{}", format.bits);
  case Chroma::c420:
    if (format.bits > 8) return fmt::format("420p{}", format.bits);
    for (const auto& [name, location] : siting_names)
      if (format.chroma_location == location) return std::string(name);
    return "420jpeg";
  case Chroma::c422:
    return format.bits == 8 ? "422" : fmt::format("422p{}", format.bits);
  case Chroma::c444:
    return format.bits == 8 ? "444" : fmt::format("444p{}", format.bits);
  }
  return {};
}

char field_order_name(FieldOrder order) {
  if (order == FieldOrder::top_first) return 't';
  return order == FieldOrder::bottom_first ? 'b' : 'p';
}

std::string_view range_parameter(ColorRange range) {
  switch (range) {
  case ColorRange::unspecified:
    return "";
  case ColorRange::limited:
    return " XCOLORRANGE=LIMITED";
  case ColorRange::full:
    return " XCOLORRANGE=FULL";
  }
  return "";
}

}  // namespace

Result<FrameFormat> parse_y4m_header(std::string_view line) {
  if (line != magic && !line.starts_with("YUV4MPEG2 "))
    return failure("is not y4m: it does not begin with 'YUV4MPEG2'");
  line.remove_prefix(magic.size());

  FrameFormat format;
  while (!line.empty()) {
    line.remove_prefix(1);  // the space before the parameter
    const std::string_view token = line.substr(0, line.find(' '));
    line.remove_prefix(token.size());
    if (token.empty()) continue;
    const std::string_view value = token.substr(1);
    switch (token.front()) {
    case 'W': {
      const Result<int> width = parse_dimension(value, "width");
      if (!width) return std::unexpected(width.error());
      format.width = *width;
      break;
    }
    case 'H': {
      const Result<int> height = parse_dimension(value, "height");
      if (!height) return std::unexpected(height.error());
      format.height = *height;
      break;
    }
    case 'F': {
      const auto rate = parse_ratio(value);
      if (!rate) return failure("frame rate '{}' in the y4m header is not two numbers with a colon", value);
      if (rate->first > 0 && rate->second > 0)  // 0:0 means unknown
        std::tie(format.rate_numerator, format.rate_denominator) = *rate;
      break;
    }
    case 'A': {
      const auto aspect = parse_ratio(value);
      if (!aspect)
        return failure("sample aspect ratio '{}' in the y4m header is not two numbers with a colon", value);
      if (aspect->first > 0 && aspect->second > 0)
        std::tie(format.aspect_numerator, format.aspect_denominator) = *aspect;
      break;
    }
    case 'C': {
      const std::optional<Sampling> sampling = parse_sampling(value);
      if (!sampling)
        return failure(
            "sample format '{}' of y4m is not supported; convert to 420, 422, 444 or mono with 8 to "
            "16 bits",
            value);
      format.chroma = sampling->chroma;
      format.bits = sampling->bits;
      format.chroma_location = sampling->location;
      break;
    }
    case 'I':  // 'p' and '?' carry no information: programs that do not know write them too
      if (value == "t" || value == "m") format.field_order = FieldOrder::top_first;
      if (value == "b") format.field_order = FieldOrder::bottom_first;
      break;
    case 'X':
      if (value == "COLORRANGE=FULL")
        format.range = ColorRange::full;
      else if (value == "COLORRANGE=LIMITED")
        format.range = ColorRange::limited;
      break;
    default:  // anything else: assume progressive
      break;
    }
  }
  if (format.width == 0 || format.height == 0)
    return failure("the y4m header does not give {}", format.width == 0 ? "a width (W)" : "a height (H)");
  return format;
}

std::string y4m_header(const FrameFormat& format) {
  return fmt::format("{} W{} H{} F{}:{} I{} A{}:{} C{}{}", magic, format.width, format.height,
                     format.rate_numerator, format.rate_denominator, field_order_name(format.field_order),
                     format.aspect_numerator, format.aspect_numerator == 0 ? 0 : format.aspect_denominator,
                     sampling_name(format), range_parameter(format.range));
}

}  // namespace millrace::video
