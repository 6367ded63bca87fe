#include "similar/regions/segmentation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace millrace::similar {
namespace {

constexpr double grey_levels = 256;

// Two neighbouring pixels.
struct Edge {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
};

int greatest_difference(const std::uint8_t* a, const std::uint8_t* b) {
  return std::max({std::abs(a[0] - b[0]), std::abs(a[1] - b[1]), std::abs(a[2] - b[2])});
}

// Calls fn for every pair of pixels that share a side, row by row.
template <class Fn> void for_each_edge(const Image& image, Fn fn) {
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const auto here = static_cast<std::uint32_t>(y * image.width + x);
      const auto below = here + static_cast<std::uint32_t>(image.width);
      if (x + 1 < image.width) fn(Edge{here, here + 1});
      if (y + 1 < image.height) fn(Edge{here, below});
    }
  }
}

// By greatest difference, stable: a counting sort.
std::vector<Edge> sorted_edges(const Image& image) {
  const auto difference = [&](Edge edge) {
    return static_cast<std::size_t>(
        greatest_difference(&image.rgb[std::size_t{3} * edge.a], &image.rgb[std::size_t{3} * edge.b]));
  };
  std::array<std::size_t, 257> starts{};
  for_each_edge(image, [&](Edge edge) { ++starts[difference(edge) + 1]; });
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<Edge> sorted(starts.back());
  for_each_edge(image, [&](Edge edge) { sorted[starts[difference(edge)]++] = edge; });
  return sorted;
}

// Disjoint sets of pixels with the sums of their channels.
class Regions {
 public:
  explicit Regions(const Image& image) : parents_(image.rgb.size() / 3), regions_(parents_.size()) {
    std::iota(parents_.begin(), parents_.end(), 0U);
    for (std::size_t i = 0; i < regions_.size(); ++i)
      regions_[i] = {1, {image.rgb[3 * i], image.rgb[3 * i + 1], image.rgb[3 * i + 2]}};
  }

  std::uint32_t find(std::uint32_t pixel) {
    while (parents_[pixel] != pixel) {
      parents_[pixel] = parents_[parents_[pixel]];  // path halving
      pixel = parents_[pixel];
    }
    return pixel;
  }
  void merge(std::uint32_t a, std::uint32_t b) {
    if (regions_[a].pixels < regions_[b].pixels) std::swap(a, b);
    parents_[b] = a;
    regions_[a].pixels += regions_[b].pixels;
    for (std::size_t c = 0; c < 3; ++c)
      regions_[a].sums[c] += regions_[b].sums[c];
  }
  [[nodiscard]] std::uint32_t pixels(std::uint32_t root) const { return regions_[root].pixels; }
  // Difference of the regions' means, maximum over the channels.
  [[nodiscard]] double difference(std::uint32_t a, std::uint32_t b) const {
    double greatest = 0;
    for (std::size_t c = 0; c < 3; ++c)
      greatest = std::max(greatest, std::abs(mean(a, c) - mean(b, c)));
    return greatest;
  }
  [[nodiscard]] std::size_t size() const { return parents_.size(); }

 private:
  struct Region {
    std::uint32_t pixels = 0;
    std::array<std::uint64_t, 3> sums{};
  };
  [[nodiscard]] double mean(std::uint32_t root, std::size_t channel) const {
    return static_cast<double>(regions_[root].sums[channel]) / regions_[root].pixels;
  }

  std::vector<std::uint32_t> parents_;
  std::vector<Region> regions_;  // valid at the roots
};

// b(R)^2 for every size of a region.
std::vector<double> squared_bounds(std::size_t pixels, double complexity) {
  const double log_confidence = std::log(6.0) + 2 * std::log(static_cast<double>(pixels));
  std::vector<double> bounds(pixels + 1);
  for (std::size_t n = 1; n <= pixels; ++n) {
    const auto size = static_cast<double>(n);
    const double log_regions = std::min(grey_levels, size) * std::log(size + 1);
    bounds[n] = grey_levels * grey_levels / (2 * complexity * size) * (log_regions + log_confidence);
  }
  return bounds;
}

// Merges each region below `least` pixels across its faintest edge. One pass suffices: a region that is small
// at the end was small at each of its edges.
void absorb_small_regions(const std::vector<Edge>& edges, Regions& regions, std::uint32_t least) {
  for (const Edge edge : edges) {
    const std::uint32_t a = regions.find(edge.a);
    const std::uint32_t b = regions.find(edge.b);
    if (a != b && std::min(regions.pixels(a), regions.pixels(b)) < least) regions.merge(a, b);
  }
}

Segmentation labelled(Regions& regions) {
  constexpr std::uint32_t unnumbered = 0xFFFF'FFFF;
  Segmentation result;
  std::vector<std::uint32_t> numbers(regions.size(), unnumbered);
  result.labels.reserve(regions.size());
  for (std::uint32_t pixel = 0; pixel < regions.size(); ++pixel) {
    std::uint32_t& number = numbers[regions.find(pixel)];
    if (number == unnumbered) number = static_cast<std::uint32_t>(result.regions++);
    result.labels.push_back(static_cast<std::uint16_t>(number));
  }
  return result;
}

}  // namespace

Segmentation segment(const Image& image, const SegmentationOptions& options) {
  Regions regions(image);
  const std::vector<double> bounds = squared_bounds(regions.size(), options.complexity);
  const std::vector<Edge> edges = sorted_edges(image);
  for (const Edge edge : edges) {
    const std::uint32_t a = regions.find(edge.a);
    const std::uint32_t b = regions.find(edge.b);
    if (a == b) continue;
    const double difference = regions.difference(a, b);
    if (difference * difference <= bounds[regions.pixels(a)] + bounds[regions.pixels(b)]) regions.merge(a, b);
  }
  const double share = std::max(options.least_share, 1.0 / 65536);
  absorb_small_regions(edges, regions,
                       static_cast<std::uint32_t>(std::ceil(share * static_cast<double>(regions.size()))));
  return labelled(regions);
}

}  // namespace millrace::similar
