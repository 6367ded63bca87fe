// Region features: the data by which images are compared.
#pragma once

#include "similar/image/image.h"
#include "similar/regions/segmentation.h"

#include <array>
#include <cstddef>
#include <vector>

namespace millrace::similar {

inline constexpr std::size_t feature_count = 14;

// Change this if the same picture no longer gives the same features; index files record it.
inline constexpr unsigned feature_version = 2;

// Far above any feature of an image; integer distances rely on it.
inline constexpr float largest_feature = 16;
// Of one image, because smaller regions than 0.5 % of it are merged with others; see segment().
inline constexpr std::size_t most_regions_of_image = 200;

using Features = std::array<float, feature_count>;

// A region: the features of Lv, Charikar and Li ("Image Similarity Search with Compact Data Structures", CIKM
// 2004), scaled so that their Euclidean distance is the ground distance of comparison.
//
//   0..8   for hue, saturation, value (each 0 to 1) the first three colour moments: mean, standard deviation,
//          cube root of the third central moment (Stricker and Orengo, "Similarity of Color Images", 1995)
//   9..13  of the bounding box: ln(width/height), share filled by the region, ln(area), centre x, centre y;
//          lengths relative to the image's sides
struct Region {
  Features features{};
  // Square root of the area, divided by the sum of all roots, so that large regions count more but do not
  // dominate.
  float weight = 0;
  bool operator==(const Region&) const = default;
};

// One region per region of `segmentation`, in its order. `segmentation` must be of `image`. Weights sum to 1.
[[nodiscard]] std::vector<Region> extract_features(const Image& image, const Segmentation& segmentation);

// Euclidean.
[[nodiscard]] double distance(const Features& a, const Features& b);

}  // namespace millrace::similar
