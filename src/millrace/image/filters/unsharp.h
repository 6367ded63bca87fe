#pragma once

#include "millrace/image/filters/gaussian.h"

namespace millrace::image::filters {

// v + amount*(v - gaussian(v)): sharpens, or softens if the amount is negative.
struct Unsharp : SameSize {
  static Filter about() {
    Parameter sigma = Gaussian::sigma();
    sigma.summary = "standard deviation of the Gaussian window that details are told by";
    sigma.required = false;
    sigma.fallback = 1;
    return {.name = "unsharp",
            .summary = "sharpen: v + amount*(v - gaussian(v))",
            .chroma = ChromaDefault::passes,
            .parameters = {sigma,
                           {.name = "amount",
                            .summary = "how much is added of what the window smooths away",
                            .minimum = -1,
                            .maximum = 16,
                            .required = false,
                            .fallback = 1}}};
  }

  static std::vector<Part> parts(const PlaneGeometry& input, const ParameterValues& values) {
    std::vector<Part> parts = Gaussian::parts(input, values);
    parts.push_back({.filter = find_simple_filter("exaggerate"), .values = {values[1]}, .inputs = {-1, 1}});
    return parts;
  }
};

}  // namespace millrace::image::filters
