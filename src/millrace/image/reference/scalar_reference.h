// Computes a layout with the scalar algebra, stage after stage over whole planes. Slow and simple: every
// structure, fusion, tile and instruction set is compared with it bit by bit.
#pragma once

#include "millrace/image/filter/geometry.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/video/frame/frame.h"

#include <cstddef>
#include <span>
#include <vector>

namespace millrace::image {

// One plane that owns its pixels, row by row. Code values are integers; 16 bits fit a float exactly.
struct ScalarImage {
  Size size;
  std::vector<float> pixels;  // size.pixels() elements

  [[nodiscard]] std::size_t index(int x, int y) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width) + static_cast<std::size_t>(x);
  }
  [[nodiscard]] float at(int x, int y) const { return pixels[index(x, y)]; }

  bool operator==(const ScalarImage&) const = default;
};

// Copies a plane of a frame to one float per code value. type: u8 or u16.
[[nodiscard]] ScalarImage scalar_image(const video::PlaneView& plane, ElementType type);

// The output of every stage of a layout, in its order. sources: its source frames, or one that stands for all
// of them, with the layout's source size; code values if the layout loads them, else floats. If the layout
// stores code values, the last image holds them. Bit-identical to compiled kernels only if float expressions
// are not contracted (-ffp-contract=off).
[[nodiscard]] std::vector<ScalarImage> scalar_stages(const PlaneLayout& layout,
                                                     std::span<const ScalarImage> sources);

// Only the last one: the layout's output. For a neutral plane, which has no stages, its fill value.
[[nodiscard]] ScalarImage scalar_reference(const PlaneLayout& layout, std::span<const ScalarImage> sources);
[[nodiscard]] inline ScalarImage scalar_reference(const PlaneLayout& layout, const ScalarImage& source) {
  return scalar_reference(layout, std::span(&source, 1));
}

}  // namespace millrace::image
