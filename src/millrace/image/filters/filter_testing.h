// Test helpers that apply one filter to whole images.
#pragma once

#include "millrace/image/filter/algebra.h"
#include "millrace/image/filters/named_filters.h"
#include "millrace/image/reference/reference_testing.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::image {

inline constexpr float tiniest = std::numeric_limits<float>::denorm_min();
inline const ScalarImage one_to_nine{.size = {3, 3}, .pixels = {1, 2, 3, 4, 5, 6, 7, 8, 9}};

class Images final : public PixelSource {
 public:
  explicit Images(std::vector<ScalarImage> inputs) : inputs_(std::move(inputs)) {}
  float read(int input, int x, int y) override { return inputs_.at(input).at(x, y); }

 private:
  std::vector<ScalarImage> inputs_;
};

// Applies a filter to whole images on a plane of the given geometry.
inline ScalarImage apply_filter(const Filter& filter, const ParameterValues& values,
                                const std::vector<ScalarImage>& inputs, const PlaneGeometry& geometry) {
  Images source(inputs);
  const Coefficients coefficients = filter.simple().coefficients(geometry, values);
  ScalarAlgebra algebra(source, geometry, coefficients);
  ScalarImage result{.size = filter.output(geometry, values).value().size, .pixels = {}};
  for (int y = 0; y < result.size.height; ++y) {
    for (int x = 0; x < result.size.width; ++x)
      result.pixels.push_back(filter.simple().pixel(algebra, x, y));
  }
  return result;
}

inline ScalarImage apply_filter(std::string_view name, const ParameterValues& values,
                                const ScalarImage& input, const PlaneGeometry& geometry) {
  return scalar_reference(lay_out_plane(chain({{name, values}}), geometry).value(), input);
}

// The same for a luma plane.
inline ScalarImage apply_filter(std::string_view name, const ParameterValues& values,
                                const ScalarImage& input) {
  return apply_filter(name, values, input, gray(input.size));
}

// The error message of a filter for values that it does not accept.
inline std::string refusal(std::string_view name, const ParameterValues& values,
                           const PlaneGeometry& geometry) {
  const auto layout = lay_out_plane(chain({{name, values}}), geometry);
  return layout ? "" : layout.error().message;
}

// The pixel at (x, y), edges replicated.
inline float replicated(const ScalarImage& image, int x, int y) {
  return image.at(std::clamp(x, 0, image.size.width - 1), std::clamp(y, 0, image.size.height - 1));
}

// Sizes with special cases: a single pixel, one row or column, odd sizes, more than a vector.
inline const std::vector<Size> telling_sizes{{1, 1}, {1, 9},   {9, 1},   {2, 1},  {2, 2},
                                             {3, 3}, {17, 33}, {64, 36}, {101, 7}};

}  // namespace millrace::image
