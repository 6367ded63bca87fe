// Counts how many source pixels the stages of a layout read under each order of evaluation. This is the
// measure of table III of "Execution Structures", which shows the cost of recomputing and the savings of
// computing on demand.
#pragma once

#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/layout/schedule.h"
#include "millrace/image/reference/scalar_reference.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace millrace::image {

// The structures that differ in this count: every stage over its whole frame; each output pixel recursively
// recomputing its input; on demand, each pixel of a stage at most once (granules of one pixel).
inline constexpr std::array counted_structures{Structure::sequential, Structure::backward,
                                               Structure::backward_cached};

// Pixels that one stage reads from all of its inputs.
struct StageReads {
  std::string name;  // of the filter
  // The basis of rates: pixels of the layout's source, or of the stage's output if that has another size.
  std::int64_t pixels = 0;
  bool of_own_output = false;
  // In the order of counted_structures. Integers, exact up to 2^53.
  std::array<double, counted_structures.size()> reads{};

  // structure: one of counted_structures.
  [[nodiscard]] double in(Structure structure) const {
    return reads[std::ranges::find(counted_structures, structure) - counted_structures.begin()];
  }
  [[nodiscard]] double per_pixel(Structure structure) const {
    return in(structure) / static_cast<double>(pixels);
  }
};

struct PixelReads {
  Size frame;  // the layout's source
  std::vector<StageReads> stages;
};

// Evaluates every pixel of every stage with the scalar algebra and observes its reads. The time is
// proportional to pixels times stages, even for `backward`. layout: not neutral. source: as for
// scalar_reference.
[[nodiscard]] PixelReads count_pixel_reads(const PlaneLayout& layout, const ScalarImage& source);

}  // namespace millrace::image
