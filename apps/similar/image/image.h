// Image: an 8-bit RGB raster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace millrace::similar {

// rgb holds height rows of width pixels of 3 bytes, without gaps.
struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb;

  Image() = default;
  Image(int columns, int rows)
      : width(columns), height(rows),
        rgb(std::size_t{3} * static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows)) {}

  [[nodiscard]] std::uint8_t* pixel(int x, int y) {
    return rgb.data() + 3 * (static_cast<std::ptrdiff_t>(y) * width + x);
  }
  [[nodiscard]] const std::uint8_t* pixel(int x, int y) const {
    return rgb.data() + 3 * (static_cast<std::ptrdiff_t>(y) * width + x);
  }
  bool operator==(const Image&) const = default;
};

}  // namespace millrace::similar
