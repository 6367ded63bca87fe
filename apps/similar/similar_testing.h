// What the tests of this room share: pictures made by rule, folders that go away, and the photographs where
// they are at hand.
#pragma once

#include "similar/durable_file.h"
#include "similar/image.h"
#include "similar/image_decoder.h"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace millrace::similar {

// A folder of its own for a test, removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = std::filesystem::temp_directory_path() / "similar_test_XXXXXX";
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// A background and a few ellipses of one colour each, with a little noise; the same for the same seed.
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
  ASSERT_TRUE(write_file(path, *jpeg));
}

// The 200 photographs, where they are.
inline std::optional<std::filesystem::path> photographs() {
  const char* shared = std::getenv("MILLRACE_SHARED");
  const std::filesystem::path root = shared != nullptr
                                         ? std::filesystem::path(shared)
                                         : std::filesystem::path(MILLRACE_SOURCE_DIR) / "../shared";
  std::error_code error;
  const auto folder = root / "images" / "bsds500-test";
  return std::filesystem::is_directory(folder, error) ? std::optional(folder) : std::nullopt;
}

}  // namespace millrace::similar
