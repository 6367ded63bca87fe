// The earth mover's distance between two images.
#pragma once

#include "similar/regions/region_features.h"

#include <span>

namespace millrace::similar {

// The minimum work that turns the regions of one image into those of the other: the sum of weight moved times
// distance() (Rubner, Tomasi and Guibas, "The Earth Mover's Distance as a Metric for Image Retrieval", IJCV
// 40(2), 2000). Solves the transportation problem exactly in integers: weights are rounded to 2^-30 and
// distances to 2^-20. The error is below 1e-5 for up to 200 regions and features up to 16; larger features
// are not allowed. Neither span may be empty; weights are positive and sum to 1. Thread-safe, because it has
// no state.
[[nodiscard]] double earth_movers_distance(std::span<const Region> a, std::span<const Region> b);

// The weighted mean of the regions' features.
[[nodiscard]] Features centroid(std::span<const Region> regions);

// distance(centroid(a), centroid(b)) is a lower bound of earth_movers_distance() (Rubner and others, section
// 4.3). Rounding can violate it by slightly less than this.
inline constexpr double bound_slack = 1e-4;

}  // namespace millrace::similar
