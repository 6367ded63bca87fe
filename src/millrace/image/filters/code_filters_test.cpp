// Filters on codes make the code nearest to the exact result, halves up. The expected values are computed
// here with integers from the formulas, not by filters.
#include "millrace/image/filters/divisor.h"
#include "millrace/image/filters/filter_testing.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/pipeline/presets.h"
#include "millrace/image/reference/reference_testing.h"
#include "millrace/image/reference/scalar_reference.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

PlaneLayout codes_layout(const std::string& pipeline, Size size, int bits, Samples samples = Samples::codes) {
  const video::FrameFormat format{
      .width = size.width, .height = size.height, .chroma = video::Chroma::gray, .bits = bits};
  return lay_out_frame(load_pipeline(pipeline).value(), format, Planes::all, samples, format)
      .value()
      .planes[0];
}

bool works_on_codes(const PlaneLayout& layout) {
  return std::ranges::all_of(layout.stages,
                             [](const StageLayout& s) { return s.filter->simple().on_codes(); });
}

ScalarImage random_codes(Size size, int bits, unsigned seed) {
  std::mt19937 random(seed);
  ScalarImage image{.size = size, .pixels = std::vector<float>(static_cast<std::size_t>(size.pixels()))};
  for (float& code : image.pixels)
    code = static_cast<float>(random() % (1U << static_cast<unsigned>(bits)));
  return image;
}

int code_at(const ScalarImage& image, int x, int y) { return static_cast<int>(replicated(image, x, y)); }

int floor_of(int v, int n) { return v >= 0 ? v / n : -((n - 1 - v) / n); }
int nearest_of(int v, int n) { return floor_of(2 * v + n, 2 * n); }

TEST(Divisor, DividesEveryTotalOfSoManyCodes) {
  for (int n = filters::Divisor::least; n <= filters::Divisor::most; ++n) {
    const filters::Divisor by(n);
    ASSERT_LT(by.factor, 1 << 16);
    for (int v = 0; v <= 255 * n + n / 2; ++v)
      ASSERT_EQ((static_cast<std::int64_t>(v) * by.factor) >> (16 + by.shift), v / n) << v << " / " << n;
  }
}

struct BlendOfCodes {
  const char* name;
  std::function<int(int, int)> exact;  // in 255ths of a code, or in halves
};

const BlendOfCodes blends_in_255ths[] = {
    {"add", [](int v, int w) { return 255 * (v + w); }},
    {"subtract", [](int v, int w) { return 255 * (v - w); }},
    {"normal", [](int, int w) { return 255 * w; }},
    {"darken", [](int v, int w) { return 255 * std::min(v, w); }},
    {"lighten", [](int v, int w) { return 255 * std::max(v, w); }},
    {"difference", [](int v, int w) { return 255 * std::abs(v - w); }},
    {"multiply", [](int v, int w) { return v * w; }},
    {"screen", [](int v, int w) { return 255 * (v + w) - v * w; }},
};
const BlendOfCodes blends_in_halves[] = {
    {"average", [](int v, int w) { return v + w; }},
    {"grain_merge", [](int v, int w) { return 2 * (v + w) - 255; }},
    {"grain_extract", [](int v, int w) { return 2 * (v - w) + 255; }},
};

std::vector<ScalarImage> every_pair() {
  std::vector<ScalarImage> pair(2, {.size = {256, 256}, .pixels = {}});
  for (int y = 0; y < 256; ++y) {
    for (int x = 0; x < 256; ++x) {
      pair[0].pixels.push_back(static_cast<float>(x));
      pair[1].pixels.push_back(static_cast<float>(y));
    }
  }
  return pair;
}

TEST(CodeFilters, BlendEveryPairOfCodesToTheNearestCode) {
  const std::vector<ScalarImage> pair = every_pair();
  const auto check = [&](const BlendOfCodes& blend, int parts) {
    SCOPED_TRACE(blend.name);
    const std::string text = fmt::format("[input, second] | blend({})", blend.name);
    const PlaneLayout layout = codes_layout(text, pair[0].size, 8);
    ASSERT_TRUE(works_on_codes(layout));
    const ScalarImage made = scalar_reference(layout, pair);
    const ScalarImage by_numbers =
        scalar_reference(codes_layout(text, pair[0].size, 8, Samples::codes_all_along), pair);
    for (int w = 0; w < 256; ++w) {
      for (int v = 0; v < 256; ++v) {
        const int exact = blend.exact(v, w);
        ASSERT_EQ(code_at(made, v, w), std::clamp(nearest_of(exact, parts), 0, 255)) << v << ", " << w;
        // Halfway between two codes, floats may round either way.
        const bool half = 2 * exact % parts == 0 && 2 * exact / parts % 2 != 0;
        if (!half) {
          ASSERT_EQ(made.at(v, w), by_numbers.at(v, w)) << v << ", " << w;
        }
      }
    }
  };
  for (const BlendOfCodes& blend : blends_in_255ths)
    check(blend, 255);
  for (const BlendOfCodes& blend : blends_in_halves)
    check(blend, 2);
}

TEST(CodeFilters, AreNotForModesThatMixOrHaveNoneOnCodes) {
  for (const char* mode : {"add, 0.5", "darken, 0.9", "overlay", "hard_light", "exclusion"}) {
    EXPECT_FALSE(works_on_codes(codes_layout(fmt::format("[input, second] | blend({})", mode), {8, 8}, 8)))
        << mode;
  }
  EXPECT_FALSE(works_on_codes(codes_layout("[input, second] | blend(multiply)", {8, 8}, 10)));
  EXPECT_FALSE(works_on_codes(codes_layout("box(7)", {8, 8}, 8))) << "sums beyond 16 bits";
  EXPECT_FALSE(works_on_codes(codes_layout("box(1)", {8, 8}, 10)));
  EXPECT_FALSE(works_on_codes(codes_layout("convolve([1, 2, 1, 2, 4, 2, 1, 2.5, 1])", {8, 8}, 8)));
  EXPECT_FALSE(works_on_codes(codes_layout("convolve([100, 0, 0, 0, 0, 0, 0, 0, 29])", {8, 8}, 8)));
}

// The expected pixel in integers, for a pipeline that works on codes.
struct CodeWindow {
  const char* pipeline;
  std::function<int(const ScalarImage&, int, int)> pixel;
  std::vector<int> bits;
};

int box_of(const ScalarImage& image, int x, int y, int radius) {
  int sum = 0;
  for (int dy = -radius; dy <= radius; ++dy) {
    for (int dx = -radius; dx <= radius; ++dx)
      sum += code_at(image, x + dx, y + dy);
  }
  return nearest_of(sum, (2 * radius + 1) * (2 * radius + 1));
}

int block_of(const ScalarImage& image, int x, int y, int n) {
  int sum = 0;
  for (int i = 0; i < n * n; ++i)
    sum += code_at(image, n * x + i % n, n * y + i / n);
  return nearest_of(sum, n * n);
}

const CodeWindow code_windows[] = {
    {"blur",
     [](const ScalarImage& image, int x, int y) {
       int sum = 0;
       for (int i = 0; i < 9; ++i)
         sum += code_at(image, x + i % 3 - 1, y + i / 3 - 1) * (2 - std::abs(i % 3 - 1)) *
                (2 - std::abs(i / 3 - 1));
       return nearest_of(sum, 16);
     },
     {8, 10, 16}},
    {"box(1)", [](const ScalarImage& image, int x, int y) { return box_of(image, x, y, 1); }, {8}},
    {"box(6)", [](const ScalarImage& image, int x, int y) { return box_of(image, x, y, 6); }, {8}},
    {"resize(36, 24, area)",
     [](const ScalarImage& image, int x, int y) { return block_of(image, x, y, 2); },
     {8, 10, 16}},
    {"resize(24, 16, area)",
     [](const ScalarImage& image, int x, int y) { return block_of(image, x, y, 3); },
     {8, 10, 16}},
    {"resize(18, 12, area)",
     [](const ScalarImage& image, int x, int y) { return block_of(image, x, y, 4); },
     {8, 10, 16}},
    {"convolve([0, 1, 0, 2, -3, 1, 0, 5, 0])",
     [](const ScalarImage& image, int x, int y) {
       const int sum = code_at(image, x, y - 1) + 2 * code_at(image, x - 1, y) - 3 * code_at(image, x, y) +
                       code_at(image, x + 1, y) + 5 * code_at(image, x, y + 1);
       return std::clamp(nearest_of(sum, 6), 0, 255);
     },
     {8}},
    // Weights whose sum is 0 or -1.
    {"convolve([0, 0, 0, -9, 0, 9, 0, 0, 0])",
     [](const ScalarImage& image, int x, int y) {
       return std::clamp(9 * (code_at(image, x + 1, y) - code_at(image, x - 1, y)), 0, 255);
     },
     {8}},
    {"convolve([0, 0, 0, 3, -5, 1, 0, 0, 0])",
     [](const ScalarImage& image, int x, int y) {
       return std::clamp(5 * code_at(image, x, y) - 3 * code_at(image, x - 1, y) - code_at(image, x + 1, y),
                         0, 255);
     },
     {8}},
    {"deinterlace(bob, top)",
     [](const ScalarImage& image, int x, int y) {
       if (y % 2 == 0) return code_at(image, x, y);
       const int below = y + 1 < image.size.height ? y + 1 : y - 1;
       return nearest_of(code_at(image, x, y - 1) + code_at(image, x, below), 2);
     },
     {8, 10, 16}},
};

TEST(CodeFilters, SumWindowsToTheNearestCode) {
  const Size size{72, 48};
  for (const CodeWindow& window : code_windows) {
    for (const int bits : window.bits) {
      SCOPED_TRACE(fmt::format("{}, {} bits", window.pipeline, bits));
      const PlaneLayout layout = codes_layout(window.pipeline, size, bits);
      ASSERT_TRUE(works_on_codes(layout));
      // Noise, and a picture that gives the largest sums.
      ScalarImage bright{.size = size, .pixels = std::vector<float>(72 * 48, float((1 << bits) - 1))};
      for (const ScalarImage& image : {random_codes(size, bits, 3), bright}) {
        const ScalarImage made = scalar_reference(layout, image);
        for (int y = 0; y < made.size.height; ++y) {
          for (int x = 0; x < made.size.width; ++x)
            ASSERT_EQ(code_at(made, x, y), window.pixel(image, x, y)) << x << ", " << y;
        }
      }
    }
  }
}

// Compares with the same filters on floats, which may round halves differently. In rare cases float rounding
// also decides between equally good slopes.
TEST(CodeFilters, AreThoseOnNumbersButForHalves) {
  const Size size{72, 48};
  for (const char* pipeline : {"blur", "box(2)", "resize(36, 24, area)", "deinterlace", "deinterlace(bob)",
                               "[input, second] | overlay(5, 3)", "transpose | blur", "difference"}) {
    for (const int bits : {8, 10}) {
      SCOPED_TRACE(fmt::format("{}, {} bits", pipeline, bits));
      const PlaneLayout layout = codes_layout(pipeline, size, bits);
      std::vector<ScalarImage> images;
      for (std::size_t k = 0; k < layout.sources.size(); ++k)
        images.push_back(random_codes(size, bits, 5 + static_cast<unsigned>(k)));
      const ScalarImage made = scalar_reference(layout, images);
      const ScalarImage by_numbers =
          scalar_reference(codes_layout(pipeline, size, bits, Samples::codes_all_along), images);
      ASSERT_EQ(made.size, by_numbers.size);
      int apart = 0;
      for (std::size_t i = 0; i < made.pixels.size(); ++i)
        apart += std::abs(made.pixels[i] - by_numbers.pixels[i]) > 1 ? 1 : 0;
      EXPECT_LE(apart, std::string_view(pipeline) == "deinterlace" ? 4 : 0);
    }
  }
}

// Rounding weights to 1/16384 and intermediate values to 1/64 of a code gives an error below 1/16 of a code.
TEST(CodeFilters, ResampleToTheNearestCodeOrASixteenthPastHalfway) {
  const Size size{72, 48};
  const ScalarImage codes = random_codes(size, 8, 9);
  ScalarImage numbers = codes;
  for (float& number : numbers.pixels)
    number /= 255;
  for (const char* kernel : {"nearest", "bilinear", "bicubic", "lanczos3", "area"}) {
    for (const Size to : {Size{108, 72}, Size{71, 90}, Size{31, 20}, Size{9, 100}, Size{1, 1}}) {
      SCOPED_TRACE(fmt::format("{} to {}x{}", kernel, to.width, to.height));
      const std::string text = fmt::format("resize({}, {}, {})", to.width, to.height, kernel);
      const PlaneLayout layout = codes_layout(text, size, 8);
      ASSERT_FALSE(layout.stages.back().filter->simple().input_type == ElementType::f32);
      const ScalarImage made = scalar_reference(layout, codes);
      const ScalarImage exact = scalar_reference(codes_layout(text, size, 8, Samples::floats), numbers);
      for (std::size_t i = 0; i < made.pixels.size(); ++i)
        ASSERT_NEAR(made.pixels[i], std::clamp(exact.pixels[i] * 255, 0.0F, 255.0F), 0.5 + 1.0 / 16) << i;
    }
  }
}

}  // namespace
}  // namespace millrace::image
