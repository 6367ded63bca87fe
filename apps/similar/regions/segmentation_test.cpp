#include "similar/image/resize.h"
#include "similar/image/similar_testing.h"
#include "similar/regions/segmentation.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include <gtest/gtest.h>

namespace millrace::similar {
namespace {

Image noise(unsigned seed, int width, int height) {
  std::mt19937 random(seed);
  Image image(width, height);
  for (auto& byte : image.rgb)
    byte = static_cast<std::uint8_t>(random());
  return image;
}

Image painted(int width, int height, const auto& colour_at) {
  Image image(width, height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      std::ranges::copy(colour_at(x, y), image.pixel(x, y));
  return image;
}

using Colour = std::array<std::uint8_t, 3>;

class SegmentationOfAnyImage : public testing::TestWithParam<unsigned> {
 protected:
  [[nodiscard]] static Image image() {
    switch (GetParam() % 3) {
    case 0:
      return noise(GetParam(), 33 + static_cast<int>(GetParam()), 40);
    case 1:
      return scene(GetParam());
    default:
      return scene(GetParam(), 1 + static_cast<int>(GetParam() % 7), 50);
    }
  }
};

TEST_P(SegmentationOfAnyImage, NumbersEveryRegionInTheOrderOfItsFirstPixel) {
  const Segmentation segmentation = segment(image());
  ASSERT_EQ(segmentation.labels.size(), image().rgb.size() / 3);
  int seen = 0;
  for (const auto label : segmentation.labels) {
    ASSERT_LE(label, seen);
    seen = std::max(seen, label + 1);
  }
  EXPECT_EQ(seen, segmentation.regions);
}

TEST_P(SegmentationOfAnyImage, HasConnectedRegionsNoneTooSmall) {
  const Image picture = image();
  const Segmentation segmentation = segment(picture);
  std::set<int> filled;
  std::vector<bool> visited(segmentation.labels.size());
  const double least = SegmentationOptions{}.least_share * static_cast<double>(visited.size());
  for (int start = 0; start < static_cast<int>(visited.size()); ++start) {
    if (visited[static_cast<std::size_t>(start)]) continue;
    const auto label = segmentation.labels[static_cast<std::size_t>(start)];
    EXPECT_TRUE(filled.insert(label).second) << "region " << label << " is in two parts";
    int size = 0;
    std::queue<int> queue({start});
    visited[static_cast<std::size_t>(start)] = true;
    while (!queue.empty()) {
      const int pixel = queue.front();
      queue.pop();
      ++size;
      const int x = pixel % picture.width;
      const int y = pixel / picture.width;
      for (const auto& [u, v] : {std::pair(x - 1, y), {x + 1, y}, {x, y - 1}, {x, y + 1}}) {
        if (u < 0 || v < 0 || u >= picture.width || v >= picture.height) continue;
        const auto next = static_cast<std::size_t>((std::ptrdiff_t{v} * picture.width) + u);
        if (visited[next] || segmentation.labels[next] != label) continue;
        visited[next] = true;
        queue.push(static_cast<int>(next));
      }
    }
    if (segmentation.regions > 1) {
      EXPECT_GE(size, least);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Images, SegmentationOfAnyImage, testing::Range(0U, 18U));

TEST(Segmentation, KeepsAUniformImageWhole) {
  EXPECT_EQ(segment(painted(64, 48, [](int, int) { return Colour{10, 200, 30}; })).regions, 1);
}

TEST(Segmentation, SeparatesPlainFieldsAndNothingElse) {
  // Three bands with very different colours and noise below their differences.
  std::mt19937 random(1);
  const Image image = painted(128, 128, [&](int, int y) {
    const auto base = static_cast<std::uint8_t>(y < 40 ? 30 : y < 90 ? 120 : 220);
    const auto grey = static_cast<std::uint8_t>(base + random() % 10);
    return Colour{grey, grey, grey};
  });
  const Segmentation segmentation = segment(image);
  ASSERT_EQ(segmentation.regions, 3);
  for (std::size_t y = 0; y < 128; ++y)
    for (std::size_t x = 0; x < 128; ++x)
      ASSERT_EQ(segmentation.labels[y * 128 + x], y < 40 ? 0 : y < 90 ? 1 : 2) << x << ',' << y;
}

TEST(Segmentation, FindsMoreRegionsTheMoreComplexTheImageIsSupposedToBe) {
  const Image image = resize(scene(7, 320, 240), 128, 128);
  int before = 0;
  for (const double complexity : {0.1, 8.0, 64.0, 4096.0}) {
    const int regions = segment(image, {.complexity = complexity}).regions;
    EXPECT_GE(regions, before) << complexity;
    before = regions;
  }
  EXPECT_GT(before, 3);
}

}  // namespace
}  // namespace millrace::similar
