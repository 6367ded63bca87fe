#include "similar/index/image_index.h"
#include "similar/index/index_file.h"

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::similar {
namespace {

IndexedImage image_of(std::size_t regions, float first) {
  IndexedImage image{.name = "a.jpg"};
  for (std::size_t i = 0; i < regions; ++i) {
    Region region;
    region.features.fill(first + static_cast<float>(i) / static_cast<float>(regions));
    region.weight = 1 / static_cast<float>(regions);
    image.regions.push_back(region);
  }
  return image;
}

ImageIndex index_of_regions(std::size_t regions) {
  ImageIndex index("/some/where");
  EXPECT_TRUE(index.add(image_of(regions, 1)));
  return index;
}

// Comparing images takes time that grows with the product of their regions.
TEST(ImageIndex, IsRefusedWithMoreRegionsThanAnImageCanHave) {
  EXPECT_TRUE(index_from(index_bytes(index_of_regions(most_regions_of_image))));
  const auto refused = index_from(index_bytes(index_of_regions(most_regions_of_image + 1)));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("no image in the record"), std::string::npos)
      << refused.error().message;
}

TEST(ImageIndex, ComparesNoFurtherImagesAfterAStop) {
  ImageIndex index("/some/where");
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(index.add(image_of(3, static_cast<float>(i))));
    all.push_back(i);
  }
  const std::vector<Region> query = image_of(3, 0).regions;
  std::stop_source stop;
  EXPECT_EQ(index.rank(query, all, 5, stop.get_token()).size(), 5U);
  stop.request_stop();
  EXPECT_TRUE(index.rank(query, all, 5, stop.get_token()).empty());
}

}  // namespace
}  // namespace millrace::similar
