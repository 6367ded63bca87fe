// Generated bitmaps for tests.
#pragma once

#include "skipline/bitmap.h"

#include <algorithm>
#include <random>

namespace millrace::skipline {

// Black boxes and thin strokes on white, with some single pixels inverted. Deterministic for a seed.
inline Bitmap drawing(unsigned seed, int width, int height) {
  std::mt19937 random(seed);
  const auto below = [&](int n) {
    return static_cast<int>(random() % static_cast<unsigned>(std::max(1, n)));
  };
  std::vector<std::vector<bool>> black(static_cast<std::size_t>(height),
                                       std::vector<bool>(static_cast<std::size_t>(width)));
  for (int box = 0; box < 6; ++box) {
    const int left = below(width);
    const int top = below(height);
    const int across = box % 2 == 0 ? 1 + below(2) : 1 + below(width / 2);
    const int down = 1 + below(height / 2);
    for (int y = top; y < std::min(height, top + down); ++y)
      for (int x = left; x < std::min(width, left + across); ++x)
        black[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)] = true;
  }
  for (int i = 0; i < width * height / 40; ++i)
    black[static_cast<std::size_t>(below(height))][static_cast<std::size_t>(below(width))].flip();
  Bitmap bitmap(width, height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      if (black[static_cast<std::size_t>(y)][static_cast<std::size_t>(x)]) bitmap.set_black(x, y);
  return bitmap;
}

}  // namespace millrace::skipline
