// Generated pictures for the module's tests, and the photographs if they are available.
#pragma once

#include "millrace/base/file/whole_file.h"
#include "millrace/base/testing/shared_data_testing.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "similar/image/image.h"
#include "similar/image/image_decoder.h"

#include <filesystem>
#include <optional>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace millrace::similar {

// A background and some ellipses of one colour each, with a little noise. Deterministic for a seed.
inline Image scene(unsigned seed, int width = 160, int height = 120) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  struct Ellipse {
    int x, y, across, down;
    std::uint8_t rgb[3];
  };
  std::vector<Ellipse> ellipses(5);
  for (Ellipse& e : ellipses) {
    e = {below(width),
         below(height),
         width / 8 + 1 + below(width / 4 + 1),
         height / 8 + 1 + below(height / 4 + 1),
         {}};
    for (std::uint8_t& channel : e.rgb)
      channel = static_cast<std::uint8_t>(below(256));
  }
  ellipses.front().across = ellipses.front().down = 10 * (width + height);  // the background
  Image image(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const Ellipse* top = nullptr;
      for (const Ellipse& e : ellipses) {
        const double u = static_cast<double>(x - e.x) / e.across;
        const double v = static_cast<double>(y - e.y) / e.down;
        if (u * u + v * v <= 1) top = &e;
      }
      for (int c = 0; c < 3; ++c)
        image.pixel(x, y)[c] = static_cast<std::uint8_t>(std::min(255, top->rgb[c] + below(4)));
    }
  }
  return image;
}

inline void write_jpeg(const Image& image, const std::string& path) {
  const auto jpeg = encode_jpeg(image, 90);
  ASSERT_TRUE(jpeg);
  ASSERT_TRUE(write_whole(path, *jpeg, {.overwrite = Overwrite::yes}));
}

// The folder of the 200 photographs, if it exists.
inline std::optional<std::filesystem::path> photographs() {
  std::error_code error;
  const auto folder = shared_data() / "images" / "bsds500-test";
  return std::filesystem::is_directory(folder, error) ? std::optional(folder) : std::nullopt;
}

}  // namespace millrace::similar
