// Tests filters of two videos, one plane at a time. Module run tests whole runs.
#include "millrace/image/filters/filter_testing.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/pipeline/presets.h"

#include <array>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Pipeline beside(std::string_view filter, const ParameterValues& values) {
  return {.nodes = {node(filter, values, {Node::source, Node::second})}};
}

// Applies a filter to two planes.
ScalarImage made_of_two(std::string_view filter, const ParameterValues& values, const ScalarImage& first,
                        const ScalarImage& second, const PlaneGeometry& plane,
                        const PlaneGeometry& second_plane) {
  const PlaneLayout layout = lay_out_plane(beside(filter, values), plane, second_plane).value();
  const std::vector<ScalarImage> frames{first, second};
  return scalar_reference(layout, frames);
}

float blended(std::string_view mode, float first, float second, double opacity = 1, float gray_value = 0) {
  const Filter& blend = *find_filter("blend");
  const auto& choices = blend.parameters[0].choices;
  const auto index = std::ranges::find(choices, mode) - choices.begin();
  EXPECT_LT(index, std::ssize(choices)) << mode;
  PlaneGeometry plane = gray({1, 1});
  plane.gray = gray_value;
  return made_of_two("blend", {double(index), opacity}, {{1, 1}, {first}}, {{1, 1}, {second}}, plane, plane)
      .pixels[0];
}

TEST(Blend, HasTheFormulasOfItsModes) {
  const auto expect = [](std::string_view mode, float dark, float bright) {
    EXPECT_FLOAT_EQ(blended(mode, 0.25F, 0.5F), dark) << mode;
    EXPECT_FLOAT_EQ(blended(mode, 0.75F, 0.625F), bright) << mode;
  };
  expect("normal", 0.5F, 0.625F);
  expect("add", 0.75F, 1.0F);
  expect("average", 0.375F, 0.6875F);
  expect("darken", 0.25F, 0.625F);
  expect("difference", 0.25F, 0.125F);
  expect("exclusion", 0.5F, 0.4375F);
  expect("grain_extract", 0.25F, 0.625F);
  expect("grain_merge", 0.25F, 0.875F);
  expect("hard_light", 0.25F, 0.8125F);
  expect("lighten", 0.5F, 0.75F);
  expect("multiply", 0.125F, 0.46875F);
  expect("overlay", 0.25F, 0.8125F);
  expect("screen", 0.625F, 0.90625F);
  expect("subtract", 0.0F, 0.125F);
  EXPECT_FLOAT_EQ(blended("overlay", 0.25F, 0.75F), 0.375F) << "as the first input is";
  EXPECT_FLOAT_EQ(blended("hard_light", 0.25F, 0.75F), 0.625F) << "as the second input is";
}

TEST(Blend, TakesThePlaceOfTheFirstInputAsFarAsTheOpacitySays) {
  EXPECT_FLOAT_EQ(blended("multiply", 0.5F, 0.5F, 0.25), 0.4375F);
  EXPECT_FLOAT_EQ(blended("add", 0.75F, 0.75F, 0.5), 0.875F) << "clamped before";
  for (const std::string_view mode : find_filter("blend")->parameters[0].choices)
    EXPECT_EQ(blended(mode, 0.3F, 0.9F, 0), 0.3F) << mode;
}

// Sums of light are sums of distances from gray; products are not.
TEST(Blend, LeavesTheColoursOfTheFirstInputWhereAModeMeansNothingForThem) {
  constexpr float middle = 0.5F;
  EXPECT_FLOAT_EQ(blended("normal", 0.25F, 0.75F, 1, middle), 0.75F);
  EXPECT_FLOAT_EQ(blended("average", 0.25F, 0.5F, 1, middle), 0.375F);
  EXPECT_FLOAT_EQ(blended("add", 0.375F, 0.375F, 1, middle), 0.25F);
  EXPECT_FLOAT_EQ(blended("subtract", 0.375F, 0.375F, 1, middle), 0.5F);
  EXPECT_FLOAT_EQ(blended("grain_merge", 0.375F, 0.375F, 1, middle), 0.25F);
  EXPECT_FLOAT_EQ(blended("grain_extract", 0.375F, 0.25F, 1, middle), 0.625F);
  for (const std::string_view mode :
       {"darken", "difference", "exclusion", "hard_light", "lighten", "multiply", "overlay", "screen"})
    EXPECT_EQ(blended(mode, 0.3F, 0.9F, 1, middle), 0.3F) << mode;
}

TEST(Blend, OfOtherSizesIsRefusedWithTheWayOut) {
  const video::FrameFormat first{.width = 64, .height = 48};
  const video::FrameFormat second{.width = 32, .height = 48};
  const auto layout = lay_out_frame(load_pipeline("[input, second] | blend(add)").value(), first, Planes::all,
                                    Samples::codes, second);
  ASSERT_FALSE(layout);
  EXPECT_EQ(layout.error().message, "blend: its inputs differ in size, 64x48 and 32x48; resize the second "
                                    "video: [input, second | resize(64, 48)] | blend");
  EXPECT_TRUE(lay_out_frame(load_pipeline("[input, second | resize(64, 48)] | blend(add)").value(), first,
                            Planes::all, Samples::codes, second));
}

TEST(SecondVideo, ThatIsNotThereIsRefused) {
  const auto layout =
      lay_out_frame(load_pipeline("[input, second] | blend(add)").value(), {.width = 8, .height = 8});
  ASSERT_FALSE(layout);
  EXPECT_EQ(layout.error().kind, ErrorKind::usage);
  EXPECT_THAT(layout.error().message, HasSubstr("takes two"));
}

TEST(SecondVideo, IsReadAtOtherTimesToo) {
  const PlaneLayout layout =
      lay_out_plane(load_pipeline("[difference, second | difference(2)] | magnitude").value(), gray({4, 4}))
          .value();
  EXPECT_THAT(layout.sources,
              ElementsAre(SourceFrame{}, SourceFrame{.offset = -1}, SourceFrame{.second = true},
                          SourceFrame{.offset = -2, .second = true}));
}

// The first picture with the second at (x, y).
ScalarImage pasted(const ScalarImage& under, const ScalarImage& over, int x, int y, float opacity) {
  ScalarImage result = under;
  for (int row = 0; row < over.size.height; ++row) {
    for (int column = 0; column < over.size.width; ++column) {
      const int to_x = x + column;
      const int to_y = y + row;
      if (!whole(under.size).contains({to_x, to_y, to_x + 1, to_y + 1})) continue;
      float& pixel = result.pixels[result.index(to_x, to_y)];
      pixel = pixel + opacity * (over.at(column, row) - pixel);
    }
  }
  return result;
}

TEST(Overlay, PutsAPictureOfAnySizeAnywhere) {
  const ScalarImage under = noise({23, 17}, 1);
  for (const Size size : {Size{5, 4}, Size{1, 1}, Size{40, 3}, Size{23, 17}, Size{50, 50}}) {
    const ScalarImage over = noise(size, 2);
    for (const auto& [x, y] : {std::pair{0, 0}, {3, 7}, {-2, -3}, {20, 15}, {22, 16}, {-60, 0}, {500, 500}}) {
      for (const float opacity : {1.0F, 0.25F, 0.0F}) {
        EXPECT_EQ(made_of_two("overlay", {double(x), double(y), opacity}, under, over, gray(under.size),
                              gray(size)),
                  pasted(under, over, x, y, opacity))
            << size.width << "x" << size.height << " at " << x << "," << y;
      }
    }
  }
}

TEST(Overlay, MovesChromaWithLumaByWholeSamples) {
  const video::FrameFormat format{.width = 24, .height = 18};
  const video::FrameFormat small{.width = 8, .height = 6};
  const auto chroma = plane_geometry(format, 1);
  const auto small_chroma = plane_geometry(small, 1);
  const ScalarImage under = noise(chroma.size, 1);
  const ScalarImage over = noise(small_chroma.size, 2);
  for (const auto& [x, y, sample_x, sample_y] :
       {std::array{6, 4, 3, 2}, {7, 5, 3, 2}, {-3, -1, -2, -1}, {-4, -2, -2, -1}}) {
    EXPECT_EQ(made_of_two("overlay", {double(x), double(y), 1}, under, over, chroma, small_chroma),
              pasted(under, over, sample_x, sample_y, 1))
        << x << "," << y;
  }
}

}  // namespace
}  // namespace millrace::image
