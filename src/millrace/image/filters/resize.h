#pragma once

#include "millrace/image/filters/block_mean.h"
#include "millrace/image/filters/named_filters.h"
#include "millrace/image/filters/resampling.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace millrace::image::filters {

// Changes the size, one axis after the other.
struct Resize {
  static constexpr int longest = 32768;

  static Filter about() {
    return {.name = "resize",
            .summary = "scale to another size",
            .geometric = true,
            .parameters = {{.name = "width",
                            .summary = "of the result; 0: as the height asks for",
                            .unit = "pixels",
                            .type = ParameterType::integer,
                            .minimum = 0,
                            .maximum = longest},
                           {.name = "height",
                            .summary = "of the result; 0: as the width asks for",
                            .unit = "pixels",
                            .type = ParameterType::integer,
                            .minimum = 0,
                            .maximum = longest,
                            .required = false},
                           {.name = "kernel",
                            .summary = "how pixels are weighed",
                            .type = ParameterType::choice,
                            .minimum = 0,
                            .maximum = 4,
                            .required = false,
                            .fallback = 2,
                            .choices = resampling_kernels}}};
  }

  // Scales a length and rounds it to whole chroma samples.
  static int in_proportion(int length, double by, int step) {
    return std::max(step, static_cast<int>(std::lround(length * by / step)) * step);
  }

  static Result<PlaneGeometry> output(const PlaneGeometry& input, const ParameterValues& values) {
    Size luma{static_cast<int>(values[0]), static_cast<int>(values[1])};
    if (luma.width == 0 && luma.height == 0)
      return usage_error("resize: give a width, a height or both; 0 means that it follows from the other");
    if (luma.height == 0)
      luma.height = in_proportion(input.luma.height, values[0] / input.luma.width, input.frame_step_y);
    if (luma.width == 0)
      luma.width = in_proportion(input.luma.width, values[1] / input.luma.height, input.frame_step_x);
    if (luma.width > longest || luma.height > longest) {
      return usage_error("resize: the frame would become {}x{}; {} is the most of either", luma.width,
                         luma.height, longest);
    }
    PlaneGeometry result = input;
    result.luma = luma;
    result.size = {(luma.width + input.step_x - 1) / input.step_x,
                   (luma.height + input.step_y - 1) / input.step_y};
    return result;
  }

  // The filter for `area` if both directions shrink by the same factor of 2, 3 or 4; nullptr otherwise.
  static const Filter* mean_of_blocks(const PlaneGeometry& from, const PlaneGeometry& to,
                                      ResamplingKernel kernel) {
    const int n = from.size.width / to.size.width;
    const auto fits = [&](Size large, Size small) {
      return large.width == n * small.width && large.height == n * small.height;
    };
    if (kernel != ResamplingKernel::area || !fits(from.size, to.size) || !fits(from.luma, to.luma))
      return nullptr;
    return n == 2   ? find_simple_filter(BlockMean<2>::name)
           : n == 3 ? find_simple_filter(BlockMean<3>::name)
           : n == 4 ? find_simple_filter(BlockMean<4>::name)
                    : nullptr;
  }

  // Starts with the axis that leaves less work for resampling rows, whose reads are gathers.
  static std::vector<Part> parts(const PlaneGeometry& input, const ParameterValues& values) {
    const PlaneGeometry result = output(input, values).value();
    if (const Filter* blocks = mean_of_blocks(input, result, static_cast<ResamplingKernel>(values[2])))
      return {{.filter = blocks,
               .values = {double(result.size.width), double(result.size.height), double(result.luma.width),
                          double(result.luma.height)}}};
    const bool height_first = result.size.height < input.size.height;
    const Part width{.filter = find_simple_filter("resample_x"),
                     .values = {double(result.size.width), double(result.luma.width), values[2],
                                double(input.luma.width) / result.luma.width, height_first ? 1.0 : 0.0}};
    const Part height{.filter = find_simple_filter("resample_y"),
                      .values = {double(result.size.height), double(result.luma.height), values[2],
                                 double(input.luma.height) / result.luma.height, height_first ? 0.0 : 1.0}};
    std::vector<Part> parts = height_first ? std::vector{height, width} : std::vector{width, height};
    parts[1].inputs = {0};
    return parts;
  }
};

}  // namespace millrace::image::filters
