// Resampling along one axis: which input samples contribute to an output sample, and with which weights.
#pragma once

#include "millrace/image/filters/defaults.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::image::filters {

enum class ResamplingKernel { nearest, bilinear, bicubic, lanczos3, area };
inline const std::vector<std::string_view> resampling_kernels{"nearest", "bilinear", "bicubic", "lanczos3",
                                                              "area"};

// Output sample x is at (x + 0.5) * scale - 0.5 of the input. When reducing, all kernels except `nearest` are
// widened by the scale to avoid aliasing. Edges are replicated.
class Resampling {
 public:
  // scale: input samples per output sample.
  Resampling(ResamplingKernel kernel, int input, double scale)
      : kernel_(kernel), input_(input), scale_(scale), stretch_(std::max(scale, 1.0)) {
    constexpr double tie =
        1.0 / 4096;  // nearest: halfway places take the next sample, whatever the rounding errors
    const bool is_nearest = kernel == ResamplingKernel::nearest;
    taps_ = std::min(input, static_cast<int>(std::ceil(2 * reach() - 1e-6)));
    slope_ = static_cast<float>(scale);
    offset_ = static_cast<float>(scale / 2 - 0.5 - reach() + (is_nearest ? tie : 0));
  }

  // Number of input samples per output sample.
  [[nodiscard]] int taps() const { return taps_; }

  // 0: taps; 1, 2: slope and offset of the first tap as a line over x; 3: the largest first tap; 4: `output`;
  // 5: 0 for the first of two axes, 1 for the last. table: for each tap, its weights over all output samples.
  // Weights of samples past an edge are added to those at the edge
  [[nodiscard]] Coefficients coefficients(int output, bool first_part) const {
    std::vector<float> table(static_cast<std::size_t>(taps_) * static_cast<std::size_t>(output));
    std::vector<double> weights(static_cast<std::size_t>(taps_));
    for (int x = 0; x < output; ++x) {
      const double place = (x + 0.5) * scale_ - 0.5;
      const int first = first_tap(x, slope_, offset_, input_ - taps_);
      std::ranges::fill(weights, 0.0);
      double sum = 0;
      const int from =
          kernel_ == ResamplingKernel::nearest ? first : static_cast<int>(std::ceil(place - reach()));
      const int to =
          kernel_ == ResamplingKernel::nearest ? first : static_cast<int>(std::floor(place + reach()));
      for (int i = from; i <= to; ++i) {
        const double weight = kernel_ == ResamplingKernel::nearest ? 1 : weight_at(i - place);
        weights[static_cast<std::size_t>(std::clamp(i - first, 0, taps_ - 1))] += weight;
        sum += weight;
      }
      for (int t = 0; t < taps_; ++t) {
        table[static_cast<std::size_t>(t) * static_cast<std::size_t>(output) + static_cast<std::size_t>(x)] =
            static_cast<float>(weights[static_cast<std::size_t>(t)] / sum);
      }
    }
    // Drops trailing taps whose weights are all 0, such as the third tap of `area` at double size.
    int taps = taps_;
    const auto weights_of = [&](int tap) {
      return std::span(table).subspan(static_cast<std::size_t>(tap) * static_cast<std::size_t>(output));
    };
    while (taps > 1 && std::ranges::all_of(weights_of(taps - 1), [](float weight) { return weight == 0; }))
      table.resize(static_cast<std::size_t>(--taps) * static_cast<std::size_t>(output));
    return {{static_cast<float>(taps), slope_, offset_, static_cast<float>(input_ - taps_),
             static_cast<float>(output), first_part ? 0.0F : 1.0F},
            std::move(table)};
  }

  // The input samples needed for output samples from `begin` to `end`, from the coefficients.
  [[nodiscard]] static std::pair<int, int> range(int begin, int end, const Coefficients& k) {
    const int last = static_cast<int>(k[3]);
    return {first_tap(begin, k[1], k[2], last),
            first_tap(end - 1, k[1], k[2], last) + static_cast<int>(k[0])};
  }

  // The first tap as kernels compute it. In floats, so that it is rounded the same way everywhere.
  template <class A> static typename A::Int first_tap_of(A& a, const typename A::Int& x) {
    const typename A::Int first = A::floor_int(A::to_float(x) * a.coefficient(1) + a.coefficient(2)) + 1;
    return A::clamp_int(first, 0, a.integer_coefficient(3));
  }

  // The first tap, from coefficients 1 to 3.
  static int first_tap(int x, float slope, float offset, int last) {
    return std::clamp(static_cast<int>(std::floor(static_cast<float>(x) * slope + offset)) + 1, 0, last);
  }

 private:
  // Reach of the kernel to each side, in input samples.
  [[nodiscard]] double reach() const {
    switch (kernel_) {
    case ResamplingKernel::nearest:
      return 0.5;
    case ResamplingKernel::bilinear:
      return stretch_;
    case ResamplingKernel::bicubic:
      return 2 * stretch_;
    case ResamplingKernel::lanczos3:
      return 3 * stretch_;
    case ResamplingKernel::area:
      return scale_ / 2 + 0.5;
    }
    return 0;
  }

  // Unnormalized weight of a sample at this distance.
  [[nodiscard]] double weight_at(double distance) const {
    const double d = std::abs(distance) / stretch_;
    switch (kernel_) {
    case ResamplingKernel::nearest:
      return 1;
    case ResamplingKernel::bilinear:
      return std::max(0.0, 1 - d);
    case ResamplingKernel::bicubic:  // Keys, a = -0.5
      if (d < 1) return (1.5 * d - 2.5) * d * d + 1;
      return d < 2 ? ((-0.5 * d + 2.5) * d - 4) * d + 2 : 0;
    case ResamplingKernel::lanczos3: {
      if (d >= 3) return 0;
      const double angle = std::numbers::pi * d;
      return d == 0 ? 1 : 3 * std::sin(angle) * std::sin(angle / 3) / (angle * angle);
    }
    case ResamplingKernel::area:  // overlap with the output sample
      return std::clamp(scale_ / 2 + 0.5 - std::abs(distance), 0.0, std::min(1.0, scale_));
    }
    return 0;
  }

  ResamplingKernel kernel_;
  int input_;
  double scale_;
  double stretch_;
  int taps_ = 1;
  float slope_ = 1;
  float offset_ = 0;
};

// Updates the sample aspect ratio when `before` samples become `after`.
inline void reshape(std::int64_t& numerator, std::int64_t& denominator, int before, int after) {
  numerator *= before;
  denominator *= after;
  const std::int64_t common = std::gcd(numerator, denominator);
  numerator /= common;
  denominator /= common;
}

// The parameters of both axes.
inline std::vector<Parameter> resampling_parameters() {
  return {{.name = "size",
           .summary = "of the result",
           .unit = "pixels",
           .type = ParameterType::integer,
           .minimum = 1,
           .maximum = 32768},
          {.name = "luma_size",
           .summary = "of its luma",
           .unit = "pixels",
           .type = ParameterType::integer,
           .minimum = 1,
           .maximum = 32768},
          {.name = "kernel",
           .summary = "what weighs the samples",
           .type = ParameterType::choice,
           .minimum = 0,
           .maximum = 4,
           .choices = resampling_kernels},
          {.name = "scale",
           .summary = "samples of the input for each of the result",
           .minimum = 1.0 / 32768,
           .maximum = 32768},
          {.name = "part",
           .summary = "of the two axes",
           .type = ParameterType::choice,
           .minimum = 0,
           .maximum = 1,
           .choices = {"first", "last"}}};
}

}  // namespace millrace::image::filters
