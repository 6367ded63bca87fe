// Conversion between Y'CbCr and R'G'B' as defined by ITU-T H.273.
#pragma once

#include "millrace/image/filters/named_filters.h"

#include <optional>
#include <vector>

namespace millrace::image::filters {

// Weights of luma: Y' = red R' + green G' + blue B', with sum 1. Cb is (B' - Y') / (2 (1 - blue)), Cr is (R'
// - Y') / (2 (1 - red)).
struct LumaWeights {
  double red = 0;
  double blue = 0;
  [[nodiscard]] double green() const { return 1 - red - blue; }
};

// Weights by matrix number. Empty for matrices without such weights and for constant luminance.
inline std::optional<LumaWeights> luma_weights(int matrix) {
  switch (matrix) {
  case 1:  // BT.709
    return LumaWeights{.red = 0.2126, .blue = 0.0722};
  case 4:  // FCC
    return LumaWeights{.red = 0.30, .blue = 0.11};
  case 5:  // BT.601
  case 6:
    return LumaWeights{.red = 0.299, .blue = 0.114};
  case 7:  // SMPTE 240M
    return LumaWeights{.red = 0.212, .blue = 0.087};
  case 9:  // BT.2020, non-constant luminance
    return LumaWeights{.red = 0.2627, .blue = 0.0593};
  default:
    return std::nullopt;
  }
}

// Relates codes to the signal: code / (2^bits - 1) is zero + span * signal.
struct SignalCodes {
  double zero = 0;
  double span = 1;
};

// For luma, whose signal is in [0,1].
inline SignalCodes luma_codes(const ColorCoding& color) {
  if (color.full_range) return {};
  const double unit = (1 << (color.bits - 8)) / double((1 << color.bits) - 1);
  return {.zero = 16 * unit, .span = 219 * unit};
}

// For chroma, whose signal is in [-0.5,0.5].
inline SignalCodes chroma_codes(const ColorCoding& color) {
  const double unit = (1 << (color.bits - 8)) / double((1 << color.bits) - 1);
  return {.zero = 128 * unit, .span = color.full_range ? 1 : 224 * unit};
}

// Adds the parts that resample `input` from one size to another. Both sizes fill the frame, so that samples
// are spread evenly about its centre, as in FFmpeg. Returns the index of the last part, or `input` if the
// sizes are equal. luma: size of the frame's luma, which does not change.
inline int add_resampling(std::vector<Part>& parts, int input, Size from, Size to, Size luma) {
  constexpr double bilinear = 1;
  enum Turn { first, last };
  const auto add = [&](const char* filter, int length, int result, int of_luma, Turn turn) {
    if (length == result) return;
    parts.push_back(
        {.filter = find_simple_filter(filter),
         .values = {double(result), double(of_luma), bilinear, double(length) / result, double(turn)},
         .inputs = {input}});
    input = static_cast<int>(parts.size()) - 1;
  };
  add("resample_x", from.width, to.width, luma.width, from.height == to.height ? last : first);
  add("resample_y", from.height, to.height, luma.height, last);
  return input;
}

}  // namespace millrace::image::filters
