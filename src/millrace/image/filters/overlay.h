#pragma once

#include "millrace/image/filters/blend_mode.h"
#include "millrace/image/filters/named_filters.h"

#include <cmath>
#include <span>
#include <vector>

namespace millrace::image::filters {

// Puts the second input over the first one. It may be larger or smaller and reach beyond the frame. Its place
// is in luma samples, rounded left and up to whole chroma samples.
struct Overlay : SameSize {
  static constexpr bool sizes_may_differ = true;

  static Filter about() {
    const auto place = [](std::string_view name, std::string_view summary) {
      return Parameter{.name = name,
                       .summary = summary,
                       .unit = "pixels",
                       .type = ParameterType::integer,
                       .minimum = -32768,
                       .maximum = 32768};
    };
    return {.name = "overlay",
            .summary = "the second input, of any size, at a place of the first one",
            .inputs = 2,
            .parameters = {place("x", "where its left edge lies"), place("y", "where its upper edge lies"),
                           opacity_parameter()}};
  }

  static int whole_samples(double luma, int step) { return static_cast<int>(std::floor(luma / step)) * step; }

  static std::vector<Part> parts(std::span<const PlaneGeometry> inputs, const ParameterValues& values) {
    const PlaneGeometry& under = inputs[0];
    const PlaneGeometry& over = inputs[1];
    const double x = whole_samples(values[0], under.frame_step_x) / under.step_x;
    const double y = whole_samples(values[1], under.frame_step_y) / under.step_y;
    const Size to = under.size;
    return {{.filter = find_simple_filter("place"),
             .values = {x, y, double(to.width), double(to.height), double(under.luma.width),
                        double(under.luma.height)},
             .inputs = {-2}},
            {.filter = find_simple_filter("patch"),
             .values = {values[2], x, y, x + over.size.width, y + over.size.height},
             .inputs = {-1, 0}}};
  }
};

}  // namespace millrace::image::filters
