#include "skipline/skipline_testing.h"
#include "skipline/strip.h"

#include <numeric>

#include <gtest/gtest.h>

namespace millrace::skipline {
namespace {

int slow_difference(const Bitmap& image, int a, int b, int range) {
  int most = 0;
  for (int start = 0; start < image.width(); ++start) {
    int count = 0;
    for (int x = start; x < std::min(image.width(), start + range); ++x)
      count += image.is_black(x, a) != image.is_black(x, b) ? 1 : 0;
    most = std::max(most, count);
  }
  return most;
}

TEST(Difference, IsTheMostPixelsThatDifferInAnyWindow) {
  for (const int width : {1, 30, 64, 65, 200}) {
    const Bitmap image = drawing(static_cast<unsigned>(width), width, 12);
    for (int y = 1; y < image.height(); ++y)
      for (const int range : {1, 2, 7, 64, 1024})
        ASSERT_EQ(difference(image.line(y - 1), image.line(y), range, most_range),
                  slow_difference(image, y - 1, y, range))
            << width << ' ' << y << ' ' << range;
  }
}

TEST(Difference, StopsAboveWhatIsEnough) {
  const Bitmap image = drawing(3, 500, 2);
  const int most = difference(image.line(0), image.line(1), 64, most_range);
  for (int enough = 0; enough <= most + 1; ++enough)
    EXPECT_EQ(difference(image.line(0), image.line(1), 64, enough) > enough, most > enough);
}

TEST(LinesOf, DivideAllLinesIntoPartsThatDifferByOneAtMost) {
  for (const int height : {1, 2, 7, 100, 1080}) {
    for (int strips = 1; strips <= std::min(height, 40); ++strips) {
      int next = 0;
      for (int strip = 0; strip < strips; ++strip) {
        const Lines lines = lines_of(strip, strips, height);
        ASSERT_EQ(lines.first, next);
        ASSERT_GE(lines.count, height / strips);
        ASSERT_LE(lines.count, height / strips + 1);
        next += lines.count;
      }
      ASSERT_EQ(next, height);
    }
  }
}

Bitmap decoded(const std::vector<std::byte>& strip, int width, int height) {
  Bitmap image(width, height);
  const Status done = decode_strip(strip, image, {0, height});
  EXPECT_TRUE(done) << done.error().message;
  return image;
}

struct Case {
  Variant variant;
  bool vertical_lines;
  int range;
  int threshold;
  int skipped;
};
class Strip : public testing::TestWithParam<Case> {
 protected:
  static Parameters parameters() {
    const Case& c = GetParam();
    return {c.variant, c.vertical_lines, c.range, c.threshold, c.skipped};
  }
};

TEST_P(Strip, LosesNoMoreThanItsThreshold) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    const int width = 1 + static_cast<int>(seed * 37 % 150);
    const int height = 1 + static_cast<int>(seed * 13 % 60);
    const Bitmap image = drawing(seed, width, height);
    const Bitmap again = decoded(encode_strip(image, {0, height}, parameters()), width, height);
    for (int y = 0; y < height; ++y)
      ASSERT_LE(difference(image.line(y), again.line(y), GetParam().range, most_range), GetParam().threshold)
          << seed << ' ' << y;
    if (GetParam().threshold == 0) {
      ASSERT_EQ(again, image);
    }
  }
}

TEST_P(Strip, KeepsALineAtLeastAsOftenAsAsked) {
  const Bitmap plain(10, 100);  // all lines equal
  const auto strip = encode_strip(plain, {0, 100}, parameters());
  const int kept = (100 + GetParam().skipped) / (GetParam().skipped + 1);
  EXPECT_EQ(strip.size(), static_cast<std::size_t>(2 * kept));  // a count and a run each
}

TEST_P(Strip, KeepsStrokesThatGoOnWhenToldTo) {
  Parameters asked = parameters();
  asked.vertical_lines = true;
  for (unsigned seed = 0; seed < 30; ++seed) {
    const Bitmap image = drawing(seed, 90, 50);
    const Bitmap again = decoded(encode_strip(image, {0, 50}, asked), 90, 50);
    // A pixel lost in a line is not lost in the next skipped line.
    for (int y = 0; y + 1 < 50; ++y) {
      for (int x = 0; x < 90; ++x) {
        const bool lost = image.is_black(x, y) != again.is_black(x, y);
        const bool lost_below = image.is_black(x, y + 1) != again.is_black(x, y + 1);
        ASSERT_FALSE(lost && lost_below) << seed << ' ' << x << ',' << y;
      }
    }
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Variant variant : {Variant::basic, Variant::swing, Variant::tow})
    for (const bool vertical_lines : {false, true})
      for (const auto& [range, threshold, skipped] :
           {std::tuple(7, 3, 15), {7, 0, 15}, {1, 0, 255}, {1, 1, 3}, {64, 10, 1}, {7, 7, 0}, {1024, 0, 7}})
        all.push_back({variant, vertical_lines, range, threshold, skipped});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Parameters, Strip, testing::ValuesIn(cases()));

TEST(StripVariants, ThatMoveTheThresholdLoseLessThanBasic) {
  const auto lost = [](Variant variant) {
    int pixels = 0;
    for (unsigned seed = 0; seed < 10; ++seed) {
      const Bitmap image = drawing(seed, 200, 200);
      const Bitmap again =
          decoded(encode_strip(image, {0, 200}, {.variant = variant, .vertical_lines = false}), 200, 200);
      for (int y = 0; y < 200; ++y)
        for (int x = 0; x < 200; ++x)
          pixels += image.is_black(x, y) != again.is_black(x, y) ? 1 : 0;
    }
    return pixels;
  };
  EXPECT_LT(lost(Variant::swing), lost(Variant::basic));
  EXPECT_LT(lost(Variant::tow), lost(Variant::basic));
  EXPECT_GT(lost(Variant::tow), 0);
}

TEST(ThresholdRule, MovesAsItsVariantSays) {
  const auto allowed = [](Variant variant, int threshold, const std::vector<int>& losses) {
    ThresholdRule rule(variant, threshold);
    std::vector<int> values;
    for (const int loss : losses) {
      values.push_back(rule.allowed());
      rule.compared(loss);
    }
    return values;
  };
  const std::vector<int> none(9);
  EXPECT_EQ(allowed(Variant::basic, 3, none), std::vector<int>(9, 3));
  EXPECT_EQ(allowed(Variant::swing, 3, none), (std::vector{3, 2, 1, 0, 1, 2, 3, 2, 1}));
  EXPECT_EQ(allowed(Variant::swing, 0, none), std::vector<int>(9, 0));
  EXPECT_EQ(allowed(Variant::tow, 3, {0, 2, 1, 0, 0, 3, 0}), (std::vector{3, 3, 1, 0, 1, 2, 0}));
}

TEST(DecodeStrip, RefusesWhatIsCutOrDoesNotFit) {
  const Bitmap image = drawing(5, 70, 30);
  const auto strip = encode_strip(image, {0, 30}, {});
  for (std::size_t size = 0; size < strip.size(); ++size) {
    Bitmap out(70, 30);
    ASSERT_FALSE(decode_strip(std::span(strip).first(size), out, {0, 30})) << size;
  }
  for (const auto& [width, height] : {std::pair(69, 30), {71, 30}, {70, 29}, {70, 31}}) {
    Bitmap out(width, height);
    EXPECT_FALSE(decode_strip(strip, out, {0, height})) << width << 'x' << height;
  }
}

}  // namespace
}  // namespace millrace::skipline
