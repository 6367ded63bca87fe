#include "similar/image/resize.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <span>
#include <vector>

namespace millrace::similar {
namespace {

constexpr double lobes = 3;

double sinc(double x) {
  if (std::abs(x) < 1e-9) return 1;
  const double angle = std::numbers::pi * x;
  return std::sin(angle) / angle;
}

double lanczos(double x) { return std::abs(x) < lobes ? sinc(x) * sinc(x / lobes) : 0; }

// For each pixel of one output line, the first input pixel, the count, and the weights.
struct Taps {
  struct Pixel {
    int first = 0;
    int count = 0;
    std::size_t weights = 0;  // index of the first weight
  };
  std::vector<Pixel> pixels;
  std::vector<float> weights;
};

Taps taps_of(int from, int to) {
  Taps taps;
  const double ratio = static_cast<double>(from) / to;
  const double widen = std::max(ratio, 1.0);
  for (int i = 0; i < to; ++i) {
    const double centre = (i + 0.5) * ratio - 0.5;
    const int first = std::max(0, static_cast<int>(std::ceil(centre - lobes * widen)));
    const int last = std::min(from - 1, static_cast<int>(std::floor(centre + lobes * widen)));
    const std::size_t start = taps.weights.size();
    for (int j = first; j <= last; ++j)
      taps.weights.push_back(static_cast<float>(lanczos((j - centre) / widen)));
    const auto weights = std::span(taps.weights).subspan(start);
    const float sum = std::accumulate(weights.begin(), weights.end(), 0.0F);
    for (float& weight : weights)
      weight /= sum;
    taps.pixels.push_back({first, last - first + 1, start});
  }
  return taps;
}

std::uint8_t rounded(float value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0.0F, 255.0F) + 0.5F);
}

// Adds `weight` times the image's row to `sums`.
void add_row(const std::uint8_t* row, float weight, std::vector<float>& sums) {
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] += weight * static_cast<float>(row[i]);
}

}  // namespace

Image resize(const Image& image, int width, int height) {
  const Taps columns = taps_of(image.width, width);
  const Taps rows = taps_of(image.height, height);
  Image result(width, height);
  std::vector<float> line(std::size_t{3} * static_cast<std::size_t>(image.width));
  // Vertically first, adding whole rows at a time.
  for (int y = 0; y < height; ++y) {
    std::ranges::fill(line, 0.0F);
    const Taps::Pixel& from = rows.pixels[static_cast<std::size_t>(y)];
    for (int j = 0; j < from.count; ++j)
      add_row(image.pixel(0, from.first + j), rows.weights[from.weights + static_cast<std::size_t>(j)], line);
    std::uint8_t* out = result.pixel(0, y);
    for (const Taps::Pixel& pixel : columns.pixels) {
      const float* in = &line[std::size_t{3} * static_cast<std::size_t>(pixel.first)];
      const float* weight = &columns.weights[pixel.weights];
      float red = 0;
      float green = 0;
      float blue = 0;
      for (int j = 0; j < pixel.count; ++j, in += 3) {
        red += weight[j] * in[0];
        green += weight[j] * in[1];
        blue += weight[j] * in[2];
      }
      *out++ = rounded(red);
      *out++ = rounded(green);
      *out++ = rounded(blue);
    }
  }
  return result;
}

}  // namespace millrace::similar
