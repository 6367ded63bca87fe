// What a layout computes, pixel by pixel and stage after stage over whole planes, with the scalar algebra:
// slow, plain, and the answer that every structure, fusion, tile and instruction set is compared with to the
// last bit.
#pragma once

#include "millrace/image/filter/geometry.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/video/frame/frame.h"

#include <cstddef>
#include <span>
#include <vector>

namespace millrace::image {

// One plane that owns its pixels, row by row. Code values are whole numbers here: 16 bits fit a float
// exactly.
struct ScalarImage {
  Size size;
  std::vector<float> pixels;  // size.pixels() of them

  [[nodiscard]] std::size_t index(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) + static_cast<std::size_t>(x);
  }
  [[nodiscard]] float at(int x, int y) const { return pixels[index(x, y)]; }

  bool operator==(const ScalarImage&) const = default;
};

// A copy of a plane of a frame, one float for each code value. type: u8 or u16.
[[nodiscard]] ScalarImage scalar_image(const video::PlaneView& plane, ElementType type);

// The output of every stage of a layout, in its order. sources: its source frames, or one that stands for all
// of them, of the layout's source size; code values where the layout loads them, else floats. Where the
// layout stores code values, the last image holds them. Bit-identical to compiled kernels only where float
// expressions are not contracted (-ffp-contract=off).
[[nodiscard]] std::vector<ScalarImage> scalar_stages(const PlaneLayout& layout,
                                                     std::span<const ScalarImage> sources);

// The last of them: the output of the layout. Of a neutral plane, which has no stages, what fills it.
[[nodiscard]] ScalarImage scalar_reference(const PlaneLayout& layout, std::span<const ScalarImage> sources);
[[nodiscard]] inline ScalarImage scalar_reference(const PlaneLayout& layout, const ScalarImage& source) {
  return scalar_reference(layout, std::span(&source, 1));
}

}  // namespace millrace::image
