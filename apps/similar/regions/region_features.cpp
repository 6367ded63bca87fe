#include "similar/regions/region_features.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace millrace::similar {
namespace {

// Weight of each feature. Colour decides; shape and position distinguish regions with equal colours. Position
// counts little, so that a cropped or mirrored picture still matches.
constexpr Features scales = {4,   2,   1,     // hue
                             4,   2,   1,     // saturation
                             4,   2,   1,     // value
                             0.2, 0.4, 0.05,  // ln(width/height), share filled, ln(area)
                             0.1, 0.1};       // centre

struct Hsv {
  std::array<double, 3> channels{};  // hue, saturation, value; 0 to 1 each
};

// Smith, "Color Gamut Transform Pairs", SIGGRAPH 1978. The hue of a grey is 0.
Hsv hsv_of(const std::uint8_t* pixel) {
  const int red = pixel[0];
  const int green = pixel[1];
  const int blue = pixel[2];
  const int most = std::max({red, green, blue});
  const int spread = most - std::min({red, green, blue});
  if (spread == 0) return {{0, 0, most / 255.0}};
  double sextant = 0;
  if (most == red)
    sextant = static_cast<double>(green - blue) / spread;
  else if (most == green)
    sextant = 2 + static_cast<double>(blue - red) / spread;
  else
    sextant = 4 + static_cast<double>(red - green) / spread;
  return {{(sextant < 0 ? sextant + 6 : sextant) / 6, static_cast<double>(spread) / most, most / 255.0}};
}

// Sums over the pixels of a region.
struct Sums {
  double pixels = 0;
  std::array<double, 3> first{};
  std::array<double, 3> second{};
  std::array<double, 3> third{};
  int left = std::numeric_limits<int>::max();
  int right = -1;
  int top = std::numeric_limits<int>::max();
  int bottom = -1;
};

Features features_of(const Sums& sums, int width, int height) {
  Features features{};
  for (std::size_t c = 0; c < 3; ++c) {
    const double mean = sums.first[c] / sums.pixels;
    const double square = sums.second[c] / sums.pixels;
    const double variance = std::max(0.0, square - mean * mean);
    // E[(x - m)^3] = E[x^3] - 3 m E[x^2] + 2 m^3
    const double skew = sums.third[c] / sums.pixels - 3 * mean * square + 2 * mean * mean * mean;
    features[3 * c] = static_cast<float>(mean);
    features[3 * c + 1] = static_cast<float>(std::sqrt(variance));
    features[3 * c + 2] = static_cast<float>(std::cbrt(skew));
  }
  const double box_width = sums.right - sums.left + 1;
  const double box_height = sums.bottom - sums.top + 1;
  features[9] = static_cast<float>(std::log(box_width / width * height / box_height));
  features[10] = static_cast<float>(sums.pixels / (box_width * box_height));
  features[11] = static_cast<float>(std::log(box_width * box_height / (static_cast<double>(width) * height)));
  features[12] = static_cast<float>((sums.left + box_width / 2) / width);
  features[13] = static_cast<float>((sums.top + box_height / 2) / height);
  for (std::size_t i = 0; i < feature_count; ++i)
    features[i] *= scales[i];
  return features;
}

}  // namespace

std::vector<Region> extract_features(const Image& image, const Segmentation& segmentation) {
  std::vector<Sums> sums(static_cast<std::size_t>(segmentation.regions));
  std::size_t pixel = 0;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x, ++pixel) {
      Sums& sum = sums[segmentation.labels[pixel]];
      const Hsv hsv = hsv_of(image.pixel(x, y));
      sum.pixels += 1;
      for (std::size_t c = 0; c < 3; ++c) {
        const double value = hsv.channels[c];
        sum.first[c] += value;
        sum.second[c] += value * value;
        sum.third[c] += value * value * value;
      }
      sum.left = std::min(sum.left, x);
      sum.right = std::max(sum.right, x);
      sum.top = std::min(sum.top, y);
      sum.bottom = std::max(sum.bottom, y);
    }
  }
  double roots = 0;
  for (const Sums& sum : sums)
    roots += std::sqrt(sum.pixels);
  std::vector<Region> regions;
  regions.reserve(sums.size());
  for (const Sums& sum : sums)
    regions.push_back(
        {features_of(sum, image.width, image.height), static_cast<float>(std::sqrt(sum.pixels) / roots)});
  return regions;
}

double distance(const Features& a, const Features& b) {
  double sum = 0;
  for (std::size_t i = 0; i < feature_count; ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

}  // namespace millrace::similar
