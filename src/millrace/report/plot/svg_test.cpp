#include "millrace/report/plot/svg.h"

#include <cmath>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Ticks : public testing::TestWithParam<std::pair<double, double>> {};

TEST_P(Ticks, round_ticks_cover_the_range_with_a_few_equal_steps) {
  const auto [low, high] = GetParam();
  const auto ticks = round_ticks(low, high);
  ASSERT_GE(ticks.size(), 3U);
  EXPECT_LE(ticks.size(), 12U);
  EXPECT_LE(ticks.front(), low + 1e-9 * (high - low));
  EXPECT_GE(ticks.back(), high - 1e-9 * (high - low));
  const double step = ticks[1] - ticks[0];
  EXPECT_LT(ticks.back() - high, step);
  EXPECT_LT(low - ticks.front(), step);
  for (std::size_t i = 1; i < ticks.size(); ++i)
    EXPECT_NEAR(ticks[i] - ticks[i - 1], step, 1e-9 * step);
  const double leading = step / std::pow(10, std::floor(std::log10(step) + 1e-9));
  EXPECT_TRUE(std::abs(leading - 1) < 1e-6 || std::abs(leading - 2) < 1e-6 || std::abs(leading - 5) < 1e-6)
      << leading;
}

INSTANTIATE_TEST_SUITE_P(Svg, Ticks,
                         testing::Values(std::pair{0.0, 1.0}, std::pair{0.0, 0.0123}, std::pair{0.0, 64.0},
                                         std::pair{-3.0, 17.5}, std::pair{0.0, 9.99e6},
                                         std::pair{0.0, 1e-9}));

TEST(LogarithmicTicks, are_1_2_and_5_times_powers_of_ten) {
  EXPECT_THAT(logarithmic_ticks(0.5, 10), ElementsAre(0.5, 1, 2, 5, 10));
}

TEST(AxisTest, ends_lie_at_the_ends_and_the_middle_between) {
  const Axis linear(2, 4, 100, 0);
  EXPECT_DOUBLE_EQ(linear(2), 100);
  EXPECT_DOUBLE_EQ(linear(3), 50);
  EXPECT_DOUBLE_EQ(linear(4), 0);
  const Axis logarithmic(1, 100, 0, 10, Axis::Scale::logarithmic);
  EXPECT_DOUBLE_EQ(logarithmic(10), 5);
}

TEST(SvgTest, elements_stand_in_their_order_with_text_escaped) {
  Svg svg(10, 20, "a \"b\"");
  svg.text(1, 2, Anchor::middle, "<x>");
  svg.rectangle(1, 2, 3, 4, "class=\"fill\"", "y & z");
  const std::string text = svg.str();
  EXPECT_THAT(text, HasSubstr("viewBox=\"0 0 10 20\""));
  EXPECT_THAT(text, HasSubstr("aria-label=\"a &quot;b&quot;\""));
  EXPECT_THAT(text, HasSubstr("<text x=\"1.0\" y=\"2.0\" text-anchor=\"middle\">&lt;x&gt;</text>"));
  EXPECT_THAT(text, HasSubstr("class=\"fill\"><title>y &amp; z</title></rect>"));
  EXPECT_TRUE(text.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace millrace::report
