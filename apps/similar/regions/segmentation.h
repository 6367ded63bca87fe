// Segmentation: an image divided into regions of similar colour.
#pragma once

#include "similar/image/image.h"

#include <cstdint>
#include <vector>

namespace millrace::similar {

struct Segmentation {
  // The region of each pixel, row by row: 0 to regions-1, numbered in the order of their first pixels.
  std::vector<std::uint16_t> labels;
  int regions = 0;
};

struct SegmentationOptions {
  // Q: assumed number of regions in the image. Larger values give finer regions.
  double complexity = 64;
  // A smaller region, as a share of the image, is merged across its faintest edge. At least 1/65536, so that
  // labels fit into 16 bits.
  double least_share = 0.005;
};

// Statistical region merging (Nock and Nielsen, "Statistical Region Merging", IEEE TPAMI 26(11), 2004).
// Neighbouring pixels are visited in the order of their greatest difference in a channel. The regions of a
// pair are merged if the means of every channel differ by at most sqrt(b(R)^2 + b(R')^2), with
//
//   b(R)^2 = g^2 / (2 Q |R|) * ln(|R_|R|| / delta),  ln |R_n| = min(g, n) ln(n + 1),  delta = 1 / (6 |I|^2),
//
// g = 256 and |I| the number of pixels. `image` is not empty.
[[nodiscard]] Segmentation segment(const Image& image, const SegmentationOptions& options = {});

}  // namespace millrace::similar
