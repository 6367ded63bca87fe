#pragma once

#include "millrace/image/filters/color_model.h"
#include "millrace/image/filters/defaults.h"

#include <array>
#include <span>

namespace millrace::image::filters {

// Converts Y'CbCr to R', G' and B', all three with the size of luma; black is 0 and white is 1. Filters
// between this and rgb2yuv treat each of them like luma.
struct Yuv2Rgb : SameSize {
  static Filter about() {
    return {.name = "yuv2rgb",
            .summary = "red, green and blue of luma and chroma: filters that follow work on each of them",
            .color = ColorModel::rgb,
            .parameters = {{.name = "matrix",
                            .summary = "what luma is made of; auto: as the video says, else bt601",
                            .type = ParameterType::choice,
                            .minimum = 0,
                            .maximum = 3,
                            .required = false,
                            .choices = {"auto", "bt601", "bt709", "bt2020"}}}};
  }

  // The matrix number in H.273.
  static int matrix(const PlaneGeometry& input, const ParameterValues& values) {
    static constexpr int unspecified = 2;
    static constexpr std::array numbers{unspecified, 6, 1, 9};
    const int asked = numbers[static_cast<std::size_t>(values[0])];
    const int known = asked == unspecified ? input.color.matrix : asked;
    return known == unspecified ? 6 : known;
  }

  static Result<PlaneMix> mix(int plane, std::span<const PlaneGeometry> inputs,
                              const ParameterValues& values) {
    const PlaneGeometry& luma = inputs[0];
    if (luma.role == PlaneRole::rgb) return usage_error("yuv2rgb: its input is RGB already; leave it out");
    PlaneMix made{.output = luma, .parts = {}};
    made.output.role = PlaneRole::rgb;
    made.output.color.matrix = matrix(luma, values);
    const auto weights = luma_weights(made.output.color.matrix);
    if (!weights)
      return usage_error("yuv2rgb: the video's matrix is number {} of H.273, which is not known here; name "
                         "one, as in yuv2rgb(bt709)",
                         made.output.color.matrix);
    const SignalCodes light = luma_codes(luma.color);
    const SignalCodes colour = chroma_codes(luma.color);
    // Factors of the Cb and Cr signals in red, green and blue.
    const auto [red, blue] = *weights;
    const double green = weights->green();
    const std::array<double, 3> of_blue{0, -2 * blue * (1 - blue) / green, 2 * (1 - blue)};
    const std::array<double, 3> of_red{2 * (1 - red), -2 * red * (1 - red) / green, 0};
    const auto chroma = [&](std::size_t which) {
      return add_resampling(made.parts, -1 - static_cast<int>(which), inputs[which].size, luma.size,
                            luma.luma);
    };
    // An input with weight 0 is replaced by luma, which is read anyway.
    const bool has_colour = inputs.size() == 3;
    const auto p = static_cast<std::size_t>(plane);
    const double b = has_colour ? of_blue[p] / colour.span : 0;
    const double r = has_colour ? of_red[p] / colour.span : 0;
    const double offset = -light.zero / light.span - (b + r) * colour.zero;
    const int cb = b != 0 ? chroma(1) : -1;
    const int cr = r != 0 ? chroma(2) : -1;
    made.parts.push_back({.filter = find_simple_filter("mix"),
                          .values = {offset, 1 / light.span, b, r},
                          .inputs = {-1, cb, cr}});
    return made;
  }
};

}  // namespace millrace::image::filters
