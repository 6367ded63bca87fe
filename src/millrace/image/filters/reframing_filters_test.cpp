// Tests filters that change the size or position of the frame: flip, transpose, crop_at, pad, resize.
#include "millrace/image/filters/filter_testing.h"
#include "millrace/image/filters/resampling.h"
#include "millrace/image/layout/frame_layout.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

using testing::ElementsAre;

TEST(Flip, MirrorsTheWayItIsTold) {
  EXPECT_THAT(apply_filter("flip", {0}, one_to_nine).pixels, ElementsAre(3, 2, 1, 6, 5, 4, 9, 8, 7));
  EXPECT_THAT(apply_filter("flip", {1}, one_to_nine).pixels, ElementsAre(7, 8, 9, 4, 5, 6, 1, 2, 3));
  EXPECT_THAT(apply_filter("flip", {2}, one_to_nine).pixels, ElementsAre(9, 8, 7, 6, 5, 4, 3, 2, 1));
  for (const Size size : telling_sizes) {
    for (double way : {0.0, 1.0, 2.0})
      EXPECT_EQ(apply_filter("flip", {way}, apply_filter("flip", {way}, noise(size))), noise(size));
  }
}

TEST(Transpose, TurnsTheWayItIsTold) {
  const ScalarImage image{.size = {3, 2}, .pixels = {1, 2, 3, 4, 5, 6}};
  const auto turned = [&](double turn) { return apply_filter("transpose", {turn}, image); };
  EXPECT_EQ(turned(0), (ScalarImage{.size = {2, 3}, .pixels = {4, 1, 5, 2, 6, 3}}));
  EXPECT_EQ(turned(1), (ScalarImage{.size = {2, 3}, .pixels = {3, 6, 2, 5, 1, 4}}));
  EXPECT_EQ(turned(2), (ScalarImage{.size = {2, 3}, .pixels = {1, 4, 2, 5, 3, 6}}));
}

TEST(Transpose, OfChromaThatWouldBecomeHalfAsHighSaysWhatToDo) {
  const video::FrameFormat format{.width = 16, .height = 8, .chroma = video::Chroma::c422};
  const auto layout = lay_out_frame(chain({{"transpose", {0}}}), format);
  ASSERT_FALSE(layout);
  EXPECT_THAT(layout.error().message, testing::HasSubstr("convert the video to 4:2:0 or 4:4:4 first"));
}

TEST(CropAt, KeepsThePartThatIsNamed) {
  EXPECT_THAT(apply_filter("crop_at", {1, 0, 2, 2}, one_to_nine).pixels, ElementsAre(2, 3, 5, 6));
  EXPECT_EQ(apply_filter("crop_at", {0, 0, 3, 3}, one_to_nine), one_to_nine);
  for (const ParameterValues& outside :
       std::vector<ParameterValues>{{1, 0, 3, 3}, {0, 3, 1, 1}, {3, 0, 1, 1}}) {
    EXPECT_THAT(refusal("crop_at", outside, gray({3, 3})), testing::HasSubstr("lies outside a 3x3 frame"));
  }
}

TEST(CropAt, KeepsWholeChromaSamplesInEveryPlane) {
  const video::FrameFormat format{.width = 17, .height = 11};  // 4:2:0
  const auto layout = lay_out_frame(chain({{"crop_at", {3, 5, 14, 5}}}), format).value();
  EXPECT_EQ(layout.output.width, 15);  // from column 2 to the odd edge
  EXPECT_EQ(layout.output.height, 4);
  const ScalarImage chroma = noise({9, 6});
  const PlaneGeometry plane = plane_geometry(format, 1);
  const ScalarImage result = apply_filter("crop_at", {3, 5, 14, 5}, chroma, plane);
  ASSERT_EQ(result.size, (Size{8, 2}));
  EXPECT_EQ(result.at(0, 0), chroma.at(1, 2));
  EXPECT_EQ(result.at(7, 1), chroma.at(8, 3));
}

TEST(Pad, PutsTheFrameIntoABorder) {
  const ScalarImage image{.size = {2, 1}, .pixels = {0.25F, 0.5F}};
  EXPECT_EQ(apply_filter("pad", {1, 2, 0, 1, 1}, image),
            (ScalarImage{.size = {3, 4}, .pixels = {1, 1, 1, 1, 1, 1, 1, 0.25F, 0.5F, 1, 1, 1}}));
  EXPECT_EQ(apply_filter("pad", {0, 0, 0, 0, 1}, noise({5, 4})), noise({5, 4}));
}

TEST(Pad, HasAGrayBorderInChroma) {
  const video::FrameFormat format{.width = 8, .height = 8, .bits = 10};
  const ScalarImage result = apply_filter("pad", {4, 2, 3, 0, 1}, noise({4, 4}), plane_geometry(format, 1));
  ASSERT_EQ(result.size, (Size{7, 5}));
  EXPECT_EQ(result.at(0, 0), 512.0F / 1023.0F);
  EXPECT_EQ(result.at(6, 4), 512.0F / 1023.0F);
  EXPECT_EQ(result.at(2, 1), noise({4, 4}).at(0, 0));
}

TEST(Pad, ToMoreThanAFrameMayHaveIsRefused) {
  EXPECT_THAT(refusal("pad", {8192, 0, 0, 0, 0}, gray({32768, 4})), testing::HasSubstr("40960x4"));
}

TEST(Perspective, OfTheFramesOwnCornersChangesNothing) {
  for (const Size size : telling_sizes) {
    const double w = size.width;
    const double h = size.height;
    EXPECT_EQ(apply_filter("perspective", {0, 0, w, 0, 0, h, w, h}, noise(size)), noise(size));
  }
}

TEST(Perspective, OfTurnedCornersTurnsThePicture) {
  const ScalarImage image{.size = {4, 4}, .pixels = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
  // Upside down: row 0 of the result is at row 4 of the source, past its edge.
  const ScalarImage turned = apply_filter("perspective", {0, 4, 4, 4, 0, 0, 4, 0}, image);
  EXPECT_THAT(turned.pixels, ElementsAre(0, 0, 0, 0, 13, 14, 15, 16, 9, 10, 11, 12, 5, 6, 7, 8));
}

// A floor receding into the distance: the middle row of the result is nearer to the far edge.
TEST(Perspective, DividesByTheDistance) {
  ScalarImage ramp{.size = {64, 64}, .pixels = {}};
  for (int y = 0; y < 64; ++y)
    ramp.pixels.insert(ramp.pixels.end(), 64, static_cast<float>(y));
  // The upper edge of the source is a third as long as the lower one, so the divisor goes from 3 to 1.
  const ScalarImage result = apply_filter("perspective", {24, 0, 40, 0, 8, 60, 56, 60}, ramp);
  for (int y = 0; y < 64; ++y) {
    const double t = y / 64.0;
    EXPECT_NEAR(result.at(32, y), 60 * t / (3 - 2 * t), 0.001) << y;
  }
}

TEST(Perspective, OfCornersThatMakeNoPictureIsRefused) {
  const auto refused = [](const ParameterValues& corners) {
    return refusal("perspective", corners, gray({64, 64}));
  };
  EXPECT_THAT(refused({0, 0, 64, 0, 0, 64, 0, 0}), testing::HasSubstr("no"));
  EXPECT_THAT(refused({0, 0, 64, 0, 64, 64, 0, 64}), testing::HasSubstr("convex"));
  EXPECT_THAT(refusal("perspective", {319.9, 0, 320.1, 0, 0, 640, 640, 640}, gray({640, 640})),
              testing::HasSubstr("steep"));
  EXPECT_EQ(refused({20, 0, 44, 0, 0, 64, 64, 64}), "");
}

// 4:2:0 chroma moves with luma: in a symmetric view the centre of the frame stays in place.
TEST(Perspective, MovesChromaWithTheLumaItBelongsTo) {
  const video::FrameFormat format{.width = 64, .height = 48};
  for (const int p : {0, 1}) {
    const PlaneGeometry plane = plane_geometry(format, p);
    ScalarImage ramp{.size = plane.size, .pixels = {}};
    for (int y = 0; y < plane.size.height; ++y) {
      for (int x = 0; x < plane.size.width; ++x)
        ramp.pixels.push_back(static_cast<float>(plane.step_x * x + 0.5 * (plane.step_x - 1)));
    }
    const ScalarImage result = apply_filter("perspective", {16, 8, 48, 8, 4, 40, 60, 40}, ramp, plane);
    for (int x = 0; x < result.size.width; ++x) {
      const double luma_x = plane.step_x * x + 0.5 * (plane.step_x - 1);
      const double luma_y = 0.5 * (plane.step_y - 1);
      // The left and right edges of the source meet at x = 32, at the distance given by the rate at which
      // rows shrink.
      const double divisor = 56.0 / 32 + (1 - 56.0 / 32) * (luma_y / 48);
      const double expected =
          (luma_x * 32 / 64 * 56 / 32 + (16 * 56.0 / 32) + (4 - 16 * 56.0 / 32) * (luma_y / 48)) / divisor;
      EXPECT_NEAR(result.at(x, 0), expected, 0.02) << p << " " << x;
    }
  }
}

struct By {
  static constexpr double nearest = 0;
  static constexpr double bilinear = 1;
  static constexpr double bicubic = 2;
  static constexpr double lanczos3 = 3;
  static constexpr double area = 4;
};
const std::vector<double> every_kernel{By::nearest, By::bilinear, By::bicubic, By::lanczos3, By::area};

TEST(Resize, ToItsOwnSizeChangesNothing) {
  for (const Size size : telling_sizes) {
    for (double kernel : every_kernel) {
      EXPECT_EQ(apply_filter("resize", {double(size.width), double(size.height), kernel}, noise(size)),
                noise(size))
          << size.width << "x" << size.height << " " << filters::resampling_kernels[std::size_t(kernel)];
    }
  }
}

TEST(Resize, KeepsAConstantPictureInAnySize) {
  const ScalarImage flat{.size = {13, 7}, .pixels = std::vector<float>(91, 0.75F)};
  for (double kernel : every_kernel) {
    for (const Size size : {Size{1, 1}, Size{5, 3}, Size{12, 7}, Size{14, 9}, Size{100, 40}}) {
      const ScalarImage result =
          apply_filter("resize", {double(size.width), double(size.height), kernel}, flat);
      ASSERT_EQ(result.size, size);
      for (float pixel : result.pixels)
        ASSERT_NEAR(pixel, 0.75, 1e-6);
    }
  }
}

TEST(Resize, HasTheWeightsThatOneWorksOutByHand) {
  const auto row = [](const std::vector<float>& pixels, int width, double kernel) {
    const ScalarImage image{.size = {int(pixels.size()), 1}, .pixels = pixels};
    return apply_filter("resize", {double(width), 1, kernel}, image).pixels;
  };
  EXPECT_THAT(row({1, 2, 3}, 6, By::nearest), ElementsAre(1, 1, 2, 2, 3, 3));
  EXPECT_THAT(row({1, 2, 3, 4, 5, 6}, 3, By::nearest), ElementsAre(2, 4, 6));  // halfway: the next sample
  EXPECT_THAT(row({1, 2, 3, 4, 5, 6}, 2, By::nearest), ElementsAre(2, 5));
  EXPECT_THAT(row({0, 4}, 4, By::bilinear), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(row({0, 8, 16, 24}, 2, By::area), ElementsAre(4, 20));
  EXPECT_THAT(row({0, 3, 6}, 2, By::area), ElementsAre(1, 5));  // the middle sample is shared
  // Half size: a triangle over two pixels to each side, (1 3 3 1) / 8, edges replicated.
  EXPECT_THAT(row({0, 0, 8, 0, 0, 0}, 3, By::bilinear), ElementsAre(1, 3, 0));
  // Double size: Keys' weights a quarter from a pixel, (-9 111 29 -3) / 128.
  EXPECT_THAT(row({0, 0, 128, 0, 0}, 10, By::bicubic), ElementsAre(0, -3, -9, 29, 111, 111, 29, -9, -3, 0));
}

TEST(Resize, WithOneLengthKeepsTheProportionInWholeChromaSamples) {
  const auto size_of = [](const ParameterValues& values, video::Chroma chroma) {
    const auto layout =
        lay_out_frame(chain({{"resize", values}}), {.width = 1920, .height = 1080, .chroma = chroma}).value();
    return Size{layout.output.width, layout.output.height};
  };
  EXPECT_EQ(size_of({1280, 0, By::bicubic}, video::Chroma::c420), (Size{1280, 720}));
  EXPECT_EQ(size_of({0, 480, By::bicubic}, video::Chroma::c420), (Size{854, 480}));
  EXPECT_EQ(size_of({0, 480, By::bicubic}, video::Chroma::c444), (Size{853, 480}));
  EXPECT_EQ(size_of({1, 0, By::bicubic}, video::Chroma::c420), (Size{1, 2}));
  EXPECT_THAT(refusal("resize", {0, 0, By::bicubic}, gray({4, 4})), testing::HasSubstr("give a width"));
  EXPECT_THAT(refusal("resize", {32768, 0, By::bicubic}, gray({4, 32000})),
              testing::HasSubstr("is the most"));
}

// Each plane is resampled at the positions of its samples: a ramp remains a ramp, and chroma with half the
// resolution has twice the slope. The tolerance is in samples. Weights of a kernel 1.6 times as wide, taken
// at whole samples, are slightly off centre: by 3/50 for a triangle, from the formula.
TEST(Resize, MovesChromaWithTheLumaItBelongsTo) {
  const video::FrameFormat format{.width = 64, .height = 8};
  const std::pair<double, double> kernels[] = {
      {By::bilinear, 0.06}, {By::bicubic, 0.0033}, {By::lanczos3, 0.0014}};
  for (const auto& [kernel, off] : kernels) {
    for (int p : {0, 1}) {
      const PlaneGeometry plane = plane_geometry(format, p);
      ScalarImage ramp{.size = plane.size, .pixels = {}};
      for (int y = 0; y < plane.size.height; ++y) {
        for (int x = 0; x < plane.size.width; ++x)
          ramp.pixels.push_back(static_cast<float>(plane.step_x * x) +
                                0.5F * static_cast<float>(plane.step_x));
      }
      const ScalarImage result = apply_filter("resize", {40, 8, kernel}, ramp, plane);
      for (int x = 6; x < result.size.width - 6; ++x) {
        const double place = plane.step_x * (x + 0.5) * 64 / 40;  // in luma samples from the left edge
        ASSERT_NEAR(result.at(x, 0), place, off * plane.step_x + 0.0001) << "plane " << p << " at " << x;
      }
    }
  }
}

}  // namespace
}  // namespace millrace::image
