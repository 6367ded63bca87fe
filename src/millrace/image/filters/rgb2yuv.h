#pragma once

#include "millrace/image/filters/color_model.h"
#include "millrace/image/filters/defaults.h"

#include <array>
#include <span>

namespace millrace::image::filters {

// Converts back to the video's luma and chroma, with the matrix of the preceding yuv2rgb and the original
// subsampling.
struct Rgb2Yuv : SameSize {
  static Filter about() {
    return {.name = "rgb2yuv",
            .summary = "luma and chroma of red, green and blue, as yuv2rgb found them",
            .color = ColorModel::ycbcr};
  }

  static Result<PlaneMix> mix(int plane, std::span<const PlaneGeometry> inputs,
                              const ParameterValues& /*values*/) {
    const PlaneGeometry& rgb = inputs[0];
    if (rgb.role != PlaneRole::rgb)
      return usage_error("rgb2yuv: its input is not RGB; put yuv2rgb before it, or leave it out");
    const auto [red, blue] = luma_weights(rgb.color.matrix).value();  // yuv2rgb has checked it
    const double green = 1 - red - blue;
    PlaneMix made{.output = rgb, .parts = {}};
    made.output.role = plane == 0 ? PlaneRole::luma : PlaneRole::chroma;
    const std::array<std::array<double, 3>, 3> signals{
        {{red, green, blue},
         {-red / (2 * (1 - blue)), -green / (2 * (1 - blue)), 0.5},
         {0.5, -green / (2 * (1 - red)), -blue / (2 * (1 - red))}}};
    const SignalCodes codes = plane == 0 ? luma_codes(rgb.color) : chroma_codes(rgb.color);
    ParameterValues values{codes.zero};
    for (const double weight : signals[static_cast<std::size_t>(plane)])
      values.push_back(weight * codes.span);
    made.parts.push_back(
        {.filter = find_simple_filter("mix"), .values = std::move(values), .inputs = {-1, -2, -3}});
    if (plane == 0) return made;
    PlaneGeometry& chroma = made.output;
    chroma.step_x = rgb.frame_step_x;
    chroma.step_y = rgb.frame_step_y;
    chroma.size = {(rgb.luma.width + chroma.step_x - 1) / chroma.step_x,
                   (rgb.luma.height + chroma.step_y - 1) / chroma.step_y};
    chroma.fill = 0.5F;
    chroma.gray =
        static_cast<float>(1 << (rgb.color.bits - 1)) / static_cast<float>((1 << rgb.color.bits) - 1);
    add_resampling(made.parts, 0, rgb.size, chroma.size, rgb.luma);
    return made;
  }
};

}  // namespace millrace::image::filters
