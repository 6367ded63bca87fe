// Tests filters that move pixels: rotate, undistort, crop, and their interpolation.
#include "millrace/image/filters/bilinear.h"
#include "millrace/image/filters/filter_testing.h"
#include "millrace/image/filters/named_filters.h"
#include "millrace/image/layout/frame_layout.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

using testing::ElementsAre;

TEST(Rotate, QuarterTurnsMovePixelsUnchanged) {
  const ScalarImage image{.size = {2, 2}, .pixels = {1, 2, 3, 4}};
  EXPECT_THAT(apply_filter("rotate", {90}, image).pixels, ElementsAre(3, 1, 4, 2));
  EXPECT_THAT(apply_filter("rotate", {-270}, image).pixels, ElementsAre(3, 1, 4, 2));
  EXPECT_THAT(apply_filter("rotate", {180}, image).pixels, ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(apply_filter("rotate", {270}, image).pixels, ElementsAre(2, 4, 1, 3));
  EXPECT_THAT(apply_filter("rotate", {-90}, image).pixels, ElementsAre(2, 4, 1, 3));
}

TEST(Rotate, QuarterTurnsOfSquaresAreExactAtEverySize) {
  for (int n : {1, 3, 16, 17, 63, 64}) {
    const ScalarImage image = noise({n, n});
    const ScalarImage clockwise = apply_filter("rotate", {90}, image);
    const ScalarImage counterclockwise = apply_filter("rotate", {-90}, image);
    for (int y = 0; y < n; ++y) {
      for (int x = 0; x < n; ++x) {
        ASSERT_EQ(clockwise.at(x, y), image.at(y, n - 1 - x)) << n;
        ASSERT_EQ(counterclockwise.at(x, y), image.at(n - 1 - y, x)) << n;
      }
    }
  }
}

TEST(Rotate, HalfTurnsAreExactAtEverySize) {
  for (const Size size : telling_sizes) {
    ScalarImage reversed = noise(size);
    std::ranges::reverse(reversed.pixels);
    EXPECT_EQ(apply_filter("rotate", {180}, noise(size)), reversed);
  }
}

TEST(Rotate, FillsWhatAQuarterTurnLeavesUncovered) {
  const ScalarImage image{.size = {5, 3}, .pixels = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}};
  EXPECT_THAT(apply_filter("rotate", {90}, image).pixels,
              ElementsAre(0, 12, 7, 2, 0, 0, 13, 8, 3, 0, 0, 14, 9, 4, 0));
}

// Half a pixel from each neighbour: an odd width rotated about the centre of an even height.
TEST(Rotate, AveragesNeighboursHalfwayBetweenThem) {
  const ScalarImage image{.size = {1, 2}, .pixels = {1, 3}};
  EXPECT_THAT(apply_filter("rotate", {90}, image).pixels, ElementsAre(0, 0));  // half a pixel outside
  const ScalarImage wide{.size = {4, 3}, .pixels = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};
  // Source of (1, 1): x = 1.5 + 0, y = 1 + 0.5.
  EXPECT_EQ(apply_filter("rotate", {90}, wide).at(1, 1), (5.0F + 6.0F + 9.0F + 10.0F) / 4);
}

TEST(Rotate, AndBackIsCloseToTheInputAwayFromTheBorders) {
  constexpr int n = 120;
  ScalarImage smooth{.size = {n, n}, .pixels = {}};
  for (int y = 0; y < n; ++y) {
    for (int x = 0; x < n; ++x) {
      smooth.pixels.push_back(
          static_cast<float>(0.5 + 0.25 * std::sin(x * 0.15) + 0.25 * std::cos(y * 0.12)));
    }
  }
  for (double degrees : {1.0, 6.0, 30.0, 45.0, 60.0, 133.0, -77.0}) {
    const ScalarImage there = apply_filter("rotate", {degrees}, smooth);
    const ScalarImage back = apply_filter("rotate", {-degrees}, there);
    double moved = 0;
    for (int y = 0; y < n; ++y) {
      for (int x = 0; x < n; ++x) {
        if (std::hypot(x - (n - 1) / 2.0, y - (n - 1) / 2.0) > n / 2.0 - 3) continue;
        ASSERT_NEAR(back.at(x, y), smooth.at(x, y), 0.01) << degrees << " degrees at " << x << "," << y;
        moved = std::max(moved, std::abs(double{there.at(x, y)} - double{smooth.at(x, y)}));
      }
    }
    EXPECT_GT(moved, 0.02) << "a turn by " << degrees << " degrees that moves nothing shows nothing";
  }
}

// On a ramp, bilinear interpolation returns the source coordinate itself, which the filters' formulas give.
struct Coordinates {
  double x;
  double y;
};

void expect_sources(const Step& step, Size size,
                    Coordinates (*source)(const ParameterValues&, Size, double x, double y)) {
  constexpr double tolerance = 2e-3;
  ScalarImage ramp_x{.size = size, .pixels = {}};
  ScalarImage ramp_y{.size = size, .pixels = {}};
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      ramp_x.pixels.push_back(static_cast<float>(x));
      ramp_y.pixels.push_back(static_cast<float>(y));
    }
  }
  PlaneGeometry geometry = gray(size);
  geometry.fill = -1;
  const ScalarImage across = apply_filter(*find_filter(step.filter), step.values, {ramp_x}, geometry);
  const ScalarImage down = apply_filter(*find_filter(step.filter), step.values, {ramp_y}, geometry);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const Coordinates at = source(step.values, size, x, y);
      // Distance to the frame's border. On the border either result is correct.
      const double depth = std::min({at.x, size.width - 1 - at.x, at.y, size.height - 1 - at.y});
      if (std::abs(depth) < tolerance) continue;
      ASSERT_NEAR(across.at(x, y), depth > 0 ? at.x : -1, tolerance) << x << "," << y;
      ASSERT_NEAR(down.at(x, y), depth > 0 ? at.y : -1, tolerance) << x << "," << y;
    }
  }
}

TEST(Rotate, ReadsWhereItsFormulaSays) {
  for (double degrees : {-359.0, -120.0, -5.5, 0.25, 6.0, 30.0, 60.0, 89.0, 200.0}) {
    for (const Size size : {Size{64, 48}, Size{17, 33}, Size{352, 288}}) {
      expect_sources({"rotate", {degrees}}, size,
                     [](const ParameterValues& values, Size s, double x, double y) {
                       const double angle = values[0] * std::numbers::pi / 180;
                       const double cx = (s.width - 1) / 2.0;
                       const double cy = (s.height - 1) / 2.0;
                       return Coordinates{cx + std::cos(angle) * (x - cx) + std::sin(angle) * (y - cy),
                                          cy - std::sin(angle) * (x - cx) + std::cos(angle) * (y - cy)};
                     });
    }
  }
}

TEST(Undistort, ReadsWhereItsFormulaSays) {
  for (const ParameterValues& values :
       std::vector<ParameterValues>{{-0.12, 0}, {0.3, 0}, {-0.5, 0.2}, {0, -1}, {1, 1}}) {
    for (const Size size : {Size{64, 48}, Size{17, 33}, Size{352, 288}}) {
      expect_sources({"undistort", values}, size, [](const ParameterValues& k, Size s, double x, double y) {
        const double half_diagonal = std::hypot(s.width, s.height) / 2;
        const double cx = (s.width - 1) / 2.0;
        const double cy = (s.height - 1) / 2.0;
        const double dx = (x - cx) / half_diagonal;
        const double dy = (y - cy) / half_diagonal;
        const double squared = dx * dx + dy * dy;
        const double factor = 1 + k[0] * squared + k[1] * squared * squared;
        return Coordinates{cx + half_diagonal * dx * factor, cy + half_diagonal * dy * factor};
      });
    }
  }
}

class Bilinear : public testing::Test {
 protected:
  // The image 1..9, with 3 x 3 pixels.
  float at(float x, float y) {
    Images source({one_to_nine});
    PlaneGeometry geometry = gray({3, 3});
    geometry.fill = -1;
    const Coefficients none{};
    ScalarAlgebra algebra(source, geometry, none);
    return filters::bilinear(algebra, x, y);
  }
};

TEST_F(Bilinear, WeighsTheFourNeighbours) {
  EXPECT_EQ(at(0.5F, 0.0F), 1.5F);
  EXPECT_EQ(at(0.0F, 0.5F), 2.5F);
  EXPECT_EQ(at(0.5F, 0.5F), 3.0F);
  EXPECT_EQ(at(1.25F, 1.75F), 7.5F);
}

TEST_F(Bilinear, TheLastColumnAndRowAreInside) {
  EXPECT_EQ(at(2.0F, 0.0F), 3.0F);
  EXPECT_EQ(at(0.0F, 2.0F), 7.0F);
  EXPECT_EQ(at(2.0F, 2.0F), 9.0F);
  EXPECT_EQ(at(2.0F, 1.5F), 7.5F);
}

TEST_F(Bilinear, TheLeastStepBeyondTheEdgeIsOutside) {
  const float beyond = std::nextafter(2.0F, 3.0F);
  EXPECT_EQ(at(beyond, 1.0F), -1.0F);
  EXPECT_EQ(at(1.0F, beyond), -1.0F);
  EXPECT_EQ(at(-tiniest, 1.0F), -1.0F);
  EXPECT_EQ(at(1.0F, -tiniest), -1.0F);
  EXPECT_EQ(at(-0.0F, 0.0F), 1.0F);
  EXPECT_EQ(at(-1e9F, 1e9F), -1.0F);
}

TEST(Fill, IsZeroForLumaAndHalfForChroma) {
  const video::FrameFormat format{.width = 32, .height = 32, .chroma = video::Chroma::c420};
  const std::vector<Step> steps{{"rotate", {45}}, {"undistort", {1, 0}}};
  for (const Step& step : steps) {
    for (int plane = 0; plane < 3; ++plane) {
      const PlaneGeometry geometry = plane_geometry(format, plane);
      const ScalarImage white{.size = geometry.size,
                              .pixels = std::vector<float>(geometry.size.pixels(), 1.0F)};
      const ScalarImage result = apply_filter(*find_filter(step.filter), step.values, {white}, geometry);
      EXPECT_EQ(result.at(0, 0), plane == 0 ? 0.0F : 0.5F) << step.filter;
      EXPECT_EQ(result.at(geometry.size.width / 2, geometry.size.height / 2), 1.0F) << step.filter;
    }
  }
}

struct CropCase {
  video::FrameFormat format;
  double fraction;
  int plane;
  Rect kept;  // in pixels of the plane
};

class CroppedPlane : public testing::TestWithParam<CropCase> {};

TEST_P(CroppedPlane, KeepsThisPartOfThePlane) {
  const PlaneGeometry geometry = plane_geometry(GetParam().format, GetParam().plane);
  const ScalarImage image = noise(geometry.size);
  const ScalarImage result = apply_filter(*find_filter("crop"), {GetParam().fraction}, {image}, geometry);
  const Rect& kept = GetParam().kept;
  ASSERT_EQ(result.size, (Size{kept.width(), kept.height()}));
  for (int y = 0; y < result.size.height; ++y) {
    for (int x = 0; x < result.size.width; ++x)
      ASSERT_EQ(result.at(x, y), image.at(x + kept.x0, y + kept.y0));
  }
}

constexpr video::FrameFormat frame_of(int width, int height, video::Chroma chroma) {
  return {.width = width, .height = height, .chroma = chroma};
}

INSTANTIATE_TEST_SUITE_P(
    Planes, CroppedPlane,
    testing::Values(CropCase{frame_of(1920, 1080, video::Chroma::c420), 0.8, 0, {192, 108, 1728, 972}},
                    CropCase{frame_of(1920, 1080, video::Chroma::c420), 0.8, 1, {96, 54, 864, 486}},
                    CropCase{frame_of(17, 33, video::Chroma::c420), 0.8, 0, {2, 2, 14, 28}},
                    CropCase{frame_of(17, 33, video::Chroma::c420), 0.8, 1, {1, 1, 7, 14}},
                    CropCase{frame_of(17, 33, video::Chroma::c420), 0.8, 2, {1, 1, 7, 14}},
                    CropCase{frame_of(17, 33, video::Chroma::c422), 0.8, 0, {2, 3, 14, 29}},
                    CropCase{frame_of(17, 33, video::Chroma::c422), 0.8, 1, {1, 3, 7, 29}},
                    CropCase{frame_of(17, 33, video::Chroma::c444), 0.8, 0, {2, 3, 15, 29}},
                    CropCase{frame_of(17, 33, video::Chroma::c444), 0.8, 2, {2, 3, 15, 29}},
                    CropCase{frame_of(17, 33, video::Chroma::gray), 0.8, 0, {2, 3, 15, 29}},
                    CropCase{frame_of(17, 33, video::Chroma::c420), 1, 0, {0, 0, 17, 33}},
                    CropCase{frame_of(17, 33, video::Chroma::c420), 1, 1, {0, 0, 9, 17}},
                    CropCase{frame_of(10, 10, video::Chroma::gray), 0.7, 0, {1, 1, 8, 8}},
                    CropCase{frame_of(3, 3, video::Chroma::gray), 0.34, 0, {1, 1, 2, 2}}));

TEST(Crop, OfWhatLeavesNothingNamesTheFractionAndTheWayOut) {
  const auto result = find_filter("crop")->output(gray({3, 300}), {0.25});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::usage);
  EXPECT_EQ(result.error().message, "crop(0.25): nothing is left of a 3x300 frame; use a larger fraction");
}

}  // namespace
}  // namespace millrace::image
