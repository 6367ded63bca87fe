// The earth mover's distance between two images.
#pragma once

#include "similar/regions/region_features.h"

#include <span>

namespace millrace::similar {

// The least work that turns the regions of one image into those of the other: the sum of weight moved times
// distance() (Rubner, Tomasi and Guibas, "The Earth Mover's Distance as a Metric for Image Retrieval", IJCV
// 40(2), 2000). An exact solution of the transportation problem in whole numbers: weights are rounded to
// 2^-30, distances to 2^-20, which leaves an error below 1e-5 for up to 200 regions and features up to 16 in
// size; larger ones are not allowed. Neither span is empty; weights are positive and sum to 1. Thread-safe,
// as it has no state.
[[nodiscard]] double earth_movers_distance(std::span<const Region> a, std::span<const Region> b);

// The weighted mean of the regions' features.
[[nodiscard]] Features centroid(std::span<const Region> regions);

// Somewhat more than rounding can take earth_movers_distance() below distance(centroid(a), centroid(b)), its
// lower bound (Rubner and others, section 4.3).
inline constexpr double bound_slack = 1e-4;

}  // namespace millrace::similar
