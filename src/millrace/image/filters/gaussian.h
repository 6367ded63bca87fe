#pragma once

#include "millrace/image/filters/separable.h"

#include <cmath>

namespace millrace::image::filters {

// The normal distribution, truncated at three standard deviations and normalized. Sigma is in luma samples,
// so that all planes are blurred by the same distance.
struct Gaussian : SameSize {
  static Filter about() {
    return {.name = "gaussian", .summary = "smooth with a Gaussian window", .parameters = {sigma()}};
  }

  static Parameter sigma() {
    return {
        .name = "sigma", .summary = "standard deviation", .unit = "pixels", .minimum = 0.1, .maximum = 50};
  }

  static ParameterValues weights(double sigma) {
    const int radius = static_cast<int>(std::ceil(3 * sigma));
    ParameterValues result;
    double sum = 0;
    for (int i = 0; i <= radius; ++i) {
      result.push_back(std::exp(-0.5 * i * i / (sigma * sigma)));
      sum += i == 0 ? result.back() : 2 * result.back();
    }
    for (double& weight : result)
      weight /= sum;
    return result;
  }

  static std::vector<Part> parts(const PlaneGeometry& input, const ParameterValues& values) {
    return separable(weights(values[0] / input.step_x), weights(values[0] / input.step_y));
  }
};

}  // namespace millrace::image::filters
