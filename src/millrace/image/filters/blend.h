#pragma once

#include "millrace/image/filters/blend_mode.h"
#include "millrace/image/filters/named_filters.h"

#include <vector>

namespace millrace::image::filters {

// Blends two inputs with one of the blend modes known from image editors.
struct Blend : SameSize {
  enum Mode {
    normal,
    add,
    average,
    darken,
    difference,
    exclusion,
    grain_extract,
    grain_merge,
    hard_light,
    lighten,
    multiply,
    overlay,
    screen,
    subtract
  };

  static Filter about() {
    return {.name = "blend",
            .summary = "the second input over the first one",
            .inputs = 2,
            .parameters = {{.name = "mode",
                            .summary = "what becomes of the two, docs/pipelines.md has the formulas",
                            .type = ParameterType::choice,
                            .minimum = 0,
                            .maximum = 13,
                            .choices = {"normal", "add", "average", "darken", "difference", "exclusion",
                                        "grain_extract", "grain_merge", "hard_light", "lighten", "multiply",
                                        "overlay", "screen", "subtract"}},
                           opacity_parameter()}};
  }

  // Chroma is a distance from gray. Modes that add light add these distances in the same way. The other modes
  // are meaningless for chroma and keep the first input's colours.
  static std::vector<Part> parts(const PlaneGeometry& input, const ParameterValues& values) {
    const double opacity = values[1];
    const bool is_chroma = input.gray > 0;
    const double gray = input.gray;
    const double middle = is_chroma ? gray : 0.5;
    const auto part = [&](std::string_view name, ParameterValues numbers) -> std::vector<Part> {
      numbers.insert(numbers.begin(), opacity);
      return {{.filter = find_simple_filter(name), .values = std::move(numbers), .inputs = {-1, -2}}};
    };
    const auto product = [&](double c, double p, double q, double r) {
      return part("blend_product", {c, p, q, r});
    };
    const auto mode = static_cast<Mode>(static_cast<int>(values[0]));
    switch (mode) {
    case normal:
      return product(0, 0, 1, 0);
    case add:
      return product(-gray, 1, 1, 0);
    case average:
      return product(0, 0.5, 0.5, 0);
    case grain_extract:
      return product(middle, 1, -1, 0);
    case grain_merge:
      return product(-middle, 1, 1, 0);
    case subtract:
      return product(gray, 1, -1, 0);
    default:
      break;
    }
    if (is_chroma) return product(0, 1, 0, 0);
    switch (mode) {
    case darken:
      return part("blend_extremes", {0, 1});
    case difference:
      return part("blend_extremes", {1, -1});
    case exclusion:
      return product(0, 1, 1, -2);
    case hard_light:
      return part("blend_contrast", {1});
    case lighten:
      return part("blend_extremes", {1, 0});
    case multiply:
      return product(0, 0, 0, 1);
    case overlay:
      return part("blend_contrast", {0});
    default:
      return product(0, 1, 1, -1);  // screen
    }
  }
};

}  // namespace millrace::image::filters
