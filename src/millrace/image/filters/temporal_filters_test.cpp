// Tests filters that read neighbouring frames, one plane at a time. Module run tests whole runs.
#include "millrace/image/filters/filter_testing.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/pipeline/presets.h"

#include <algorithm>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

using testing::ElementsAre;

// Applies a filter to a video given by a function from offset to frame.
ScalarImage made_of(std::string_view name, const ParameterValues& values, Size size,
                    const std::function<ScalarImage(int)>& frame_at) {
  const PlaneLayout layout = lay_out_plane(chain({{name, values}}), gray(size)).value();
  std::vector<ScalarImage> frames;
  for (const SourceFrame& source : layout.sources)
    frames.push_back(frame_at(source.offset));
  if (frames.size() == 1) frames.push_back(frames[0]);
  return scalar_reference(layout, frames);
}

ScalarImage flat(Size size, float value) {
  return {.size = size, .pixels = std::vector<float>(size.pixels(), value)};
}

TEST(TemporalAverage, IsTheMeanOfTheFramesAroundThisOne) {
  const Size size{3, 2};
  for (const int n : {2, 3, 4, 7}) {
    const ScalarImage result = made_of("temporal_average", {double(n)}, size, [&](int offset) {
      return flat(size, static_cast<float>(offset * offset + 3 * offset));
    });
    double sum = 0;
    for (int offset = -(n - 1) / 2; offset <= n / 2; ++offset)
      sum += offset * offset + 3 * offset;
    for (float pixel : result.pixels)
      EXPECT_NEAR(pixel, sum / n, 1e-5) << n;
  }
}

TEST(TemporalMedian, IsTheMiddleOneOfTheFramesAround) {
  const Size size{9, 5};
  for (const int radius : {1, 2}) {
    const auto frame = [&](int offset) { return noise(size, static_cast<unsigned>(10 + offset)); };
    const ScalarImage result = made_of("temporal_median", {double(radius)}, size, frame);
    for (std::size_t i = 0; i < result.pixels.size(); ++i) {
      std::vector<float> values;
      for (int offset = -radius; offset <= radius; ++offset)
        values.push_back(frame(offset).pixels[i]);
      std::ranges::sort(values);
      ASSERT_EQ(result.pixels[i], values[static_cast<std::size_t>(radius)]);
    }
  }
}

TEST(Difference, IsThatFromSoManyFramesAgo) {
  const Size size{2, 2};
  for (const int frames : {1, 5, 30}) {
    const auto value = [](int offset) { return 0.5F - 0.01F * static_cast<float>(offset); };
    const ScalarImage result =
        made_of("difference", {double(frames)}, size, [&](int offset) { return flat(size, value(offset)); });
    for (float pixel : result.pixels)
      EXPECT_NEAR(pixel, 0.01F * static_cast<float>(frames), 1e-6);
  }
}

TEST(Difference, OfFramesTooFarApartIsRefused) {
  const auto layout = lay_out_plane(chain({{"difference", {30}}, {"difference", {3}}}), gray({4, 4}));
  ASSERT_FALSE(layout);
  EXPECT_THAT(layout.error().message, testing::HasSubstr("33 apart from the one it makes; 32 is the most"));
}

enum Mode : int { bob, motion };
enum First : int { automatic, top, bottom };

TEST(Deinterlace, ByBobPutsMeansBetweenTheRowsOfAField) {
  const ScalarImage column{.size = {1, 5}, .pixels = {1, 9, 3, 9, 7}};
  EXPECT_THAT(apply_filter("deinterlace", {bob, top}, column).pixels, ElementsAre(1, 2, 3, 5, 7));
  EXPECT_THAT(apply_filter("deinterlace", {bob, bottom}, column).pixels, ElementsAre(9, 9, 9, 9, 9));
}

TEST(Deinterlace, KeepsTheFieldThatTheVideoSaysComesFirst) {
  video::FrameFormat format{.width = 1, .height = 5, .chroma = video::Chroma::gray};
  const ScalarImage column{.size = {1, 5}, .pixels = {1, 9, 3, 9, 7}};
  for (const auto& [order, second] :
       {std::pair(video::FieldOrder::top_first, 2.0F), std::pair(video::FieldOrder::bottom_first, 9.0F),
        std::pair(video::FieldOrder::unspecified, 2.0F)}) {
    format.field_order = order;
    const ScalarImage result =
        apply_filter("deinterlace", {bob, automatic}, column, plane_geometry(format, 0));
    EXPECT_EQ(result.at(0, 1), second);
  }
}

TEST(Deinterlace, MakesProgressiveVideoOnEveryWayOrNone) {
  const video::FrameFormat format{.width = 16, .height = 8, .field_order = video::FieldOrder::top_first};
  const auto order_after = [&](const char* text) {
    return lay_out_frame(load_pipeline(text).value(), format)->output.field_order;
  };
  EXPECT_EQ(order_after("deinterlace | blur"), video::FieldOrder::progressive);
  EXPECT_EQ(order_after("[deinterlace, deinterlace(bob)] | magnitude"), video::FieldOrder::progressive);
  EXPECT_EQ(order_after("[deinterlace, input] | magnitude"), video::FieldOrder::top_first);
  EXPECT_EQ(order_after("threshold(0.5)"), video::FieldOrder::top_first);
}

TEST(Deinterlace, ByMotionLeavesAStillSlopeAlone) {
  ScalarImage slope{.size = {12, 9}, .pixels = {}};
  for (int y = 0; y < 9; ++y) {
    for (int x = 0; x < 12; ++x)
      slope.pixels.push_back(static_cast<float>(2 * x + 3 * y));
  }
  for (const double first : {double(top), double(bottom)}) {
    const ScalarImage result =
        made_of("deinterlace", {motion, first}, slope.size, [&](int) { return slope; });
    for (int y = 2; y < 7; ++y) {
      for (int x = 3; x < 9; ++x)
        ASSERT_EQ(result.at(x, y), slope.at(x, y)) << x << "," << y;
    }
  }
}

// Kept rows equal those of the frame. If everything moves, the others are made from these rows alone.
TEST(Deinterlace, ByMotionTakesNothingOfOtherTimesWhereEverythingMoves) {
  const Size size{8, 6};
  for (const double first : {double(top), double(bottom)}) {
    // Within a frame, the second field is half a frame later.
    const ScalarImage result = made_of("deinterlace", {motion, first}, size, [&](int offset) {
      ScalarImage frame = flat(size, 0);
      for (int y = 0; y < size.height; ++y) {
        const double later = y % 2 == (first == double(bottom) ? 1 : 0) ? 0 : 0.5;
        for (int x = 0; x < size.width; ++x)
          frame.pixels[frame.index(x, y)] = static_cast<float>(10 * (offset + later));
      }
      return frame;
    });
    for (float pixel : result.pixels)
      EXPECT_EQ(pixel, 0);
  }
}

// Along a sloping edge, pixels are joined along the slope, so that it is not jagged.
TEST(Deinterlace, ByMotionFollowsASlope) {
  const Size size{24, 12};
  const auto edge = [&](int x, int y) { return x + y > 17 ? 1.0F : 0.0F; };
  const ScalarImage result = made_of("deinterlace", {motion, top}, size, [&](int offset) {
    ScalarImage frame = flat(size, 0);
    for (int y = 0; y < size.height; ++y) {
      for (int x = 0; x < size.width; ++x)
        frame.pixels[frame.index(x, y)] = offset == 0 && y % 2 == 0 ? edge(x, y) : 0.5F;
    }
    return frame;
  });
  const ScalarImage straight = apply_filter("deinterlace", {bob, top}, result);
  for (int y = 3; y < 9; y += 2) {
    for (int x = 4; x < 20; ++x)
      EXPECT_EQ(result.at(x, y), edge(x, y)) << x << "," << y;
    EXPECT_EQ(straight.at(17 - y, y), 0.5F) << "a mean of the rows alone would blur it";
  }
}

}  // namespace
}  // namespace millrace::image
