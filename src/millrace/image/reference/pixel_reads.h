// How many source pixels the stages of a layout read, by the order in which a structure asks for them: the
// measure of table III of "Execution Structures" that says what recomputing costs and what demand saves.
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

// The structures that differ in how often they read a pixel: every stage over its whole frame; each output
// pixel recomputing what it needs, recursively; on demand, no pixel of a stage twice (granules of one pixel).
inline constexpr std::array counted_structures{Structure::sequential, Structure::backward,
                                               Structure::backward_cached};

// The pixels that one stage reads from all of its inputs together.
struct StageReads {
  std::string name;  // of the filter
  // What a rate is relative to: pixels of the layout's source, or of its own output where the stage changes
  // the size.
  std::int64_t pixels = 0;
  bool of_own_output = false;
  // In the order of counted_structures; whole numbers, exact up to 2^53.
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

// Counts by evaluating every pixel of every stage with the scalar algebra and watching what it reads; the
// time grows with pixels times stages, even for `backward`. layout: not neutral. source: as for
// scalar_reference.
[[nodiscard]] PixelReads count_pixel_reads(const PlaneLayout& layout, const ScalarImage& source);

}  // namespace millrace::image
