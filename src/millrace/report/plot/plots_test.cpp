#include "millrace/report/plot/plots.h"

#include <regex>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::report {
namespace {

using testing::HasSubstr;
using testing::Not;

// The numbers of an attribute, in order.
std::vector<double> numbers(const std::string& svg, const std::string& element,
                            const std::string& attribute) {
  std::vector<double> found;
  const std::regex pattern("<" + element + " [^>]*?\\b" + attribute + "=\"([-0-9.]+)\"");
  for (std::sregex_iterator i(svg.begin(), svg.end(), pattern), end; i != end; ++i)
    found.push_back(std::stod((*i)[1]));
  return found;
}

TEST(LinePlotTest, higher_values_stand_higher_and_every_series_is_named) {
  const std::string svg =
      to_svg(LinePlot{.title = "t",
                      .x_label = "threads",
                      .y_label = "ms",
                      .series = {{"one", {{1, {4, 3, 5}}, {2, {2, 2, 2}}}}, {"none", {}}}});
  const auto y = numbers(svg, "circle", "cy");
  ASSERT_EQ(y.size(), 4U) << "two points and a mark for each name";
  EXPECT_LT(y[0], y[1]);
  const auto x = numbers(svg, "circle", "cx");
  EXPECT_LT(x[0], x[1]);
  EXPECT_THAT(svg, HasSubstr(">one</text>"));
  EXPECT_THAT(svg, HasSubstr(">none (not here)</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(LinePlotTest, a_single_point_and_none_at_all_can_be_drawn) {
  const std::string one =
      to_svg(LinePlot{.title = "t", .series = {{"a", {{1, {1, 1, 1}}}}}, .diagonal = true});
  EXPECT_THAT(one, Not(HasSubstr("nan")));
  EXPECT_THAT(one, Not(HasSubstr("<polyline")));
  EXPECT_THAT(to_svg(LinePlot{.title = "t", .series = {{"a", {}}}}), HasSubstr("nothing could be measured"));
}

TEST(LinePlotTest, an_interval_without_end_does_not_flatten_the_plot_nor_leave_it) {
  const std::string svg =
      to_svg(LinePlot{.title = "t", .series = {{"a", {{1, {4, -1e6, 1e6}}, {2, {2, 2, 2}}}}}});
  const auto y = numbers(svg, "circle", "cy");
  EXPECT_GT(y[1] - y[0], 50) << "the two can be told apart";
  for (const std::string end : {"y1", "y2"}) {
    for (const double at : numbers(svg, "line", end)) {
      EXPECT_GE(at, 0);
      EXPECT_LE(at, 400);
    }
  }
}

TEST(BarPlotTest, heights_are_as_the_values_and_gaps_stay_empty) {
  const std::string svg = to_svg(BarPlot{
      .title = "t",
      .y_label = "time",
      .groups = {"A", "B"},
      .series = {{"s", {PlotValue{1, 1, 1}, PlotValue{2, 2, 2}}}, {"r", {std::nullopt, PlotValue{4, 4, 4}}}},
      .reference = 1});
  const auto heights = numbers(svg, "rect", "height");
  ASSERT_EQ(heights.size(), 5U) << "three bars and a mark for each name";
  EXPECT_NEAR(heights[1], 2 * heights[0], 0.2);
  EXPECT_NEAR(heights[3], 4 * heights[0], 0.3);
  EXPECT_THAT(svg, HasSubstr("<title>B, r: 4 (4 to 4)</title>"));
}

TEST(BarPlotTest, losses_hang_below_the_axis_inside_the_picture) {
  const std::string svg = to_svg(BarPlot{.title = "t",
                                         .y_label = "% faster",
                                         .groups = {"A"},
                                         .series = {{"loss", {PlotValue{-20, -24, -16}}},
                                                    {"gain", {PlotValue{10, -2, 22}}},
                                                    {"loss without end", {PlotValue{-1, -1e4, 1e4}}}},
                                         .reference = 0});
  const auto y = numbers(svg, "rect", "y");
  const auto heights = numbers(svg, "rect", "height");
  ASSERT_EQ(y.size(), 6U) << "three bars and a mark for each name";
  const double axis = y[0];
  EXPECT_NEAR(y[2] + heights[2], axis, 0.2) << "a gain stands on it";
  EXPECT_NEAR(y[4], axis, 0.2);
  EXPECT_NEAR(heights[0], 2 * heights[2], 0.3);
  EXPECT_GT(heights[0], 30);
  for (const std::string end : {"y1", "y2"})
    for (const double at : numbers(svg, "line", end)) {
      EXPECT_GE(at, 50);
      EXPECT_LE(at, 300) << "the axis of the groups";
    }
}

TEST(BarPlotTest, long_names_of_groups_have_two_lines) {
  const BarSeries bars{"s", std::vector<std::optional<PlotValue>>(6, PlotValue{1, 1, 1})};
  const std::string svg =
      to_svg(BarPlot{.title = "t", .groups = {"swing encode", "a", "b", "c", "d", "e"}, .series = {bars}});
  EXPECT_THAT(svg, HasSubstr(">swing</text>"));
  EXPECT_THAT(svg, HasSubstr(">encode</text>"));
  const std::string wide = to_svg(BarPlot{.title = "t", .groups = {"swing encode"}, .series = {bars}});
  EXPECT_THAT(wide, HasSubstr(">swing encode</text>"));
}

TEST(LinePlotTest, values_below_zero_stay_above_the_names_of_the_axis) {
  const std::string svg = to_svg(
      LinePlot{.title = "t", .series = {{"a", {{1, {-3, -4, -2}}, {2, {40, 40, 40}}, {3, {0, -1, 1}}}}}});
  const auto y = numbers(svg, "circle", "cy");
  EXPECT_GT(y[0], y[2]);
  EXPECT_LE(y[0], 296);
}

TEST(LegendTest, long_names_have_a_line_each) {
  const std::string both = to_svg(BarPlot{.title = "t", .series = {{std::string(40, 'n'), {}}, {"b", {}}}});
  const auto x = numbers(both, "rect", "x");
  ASSERT_EQ(x.size(), 2U);
  EXPECT_EQ(x[0], x[1]);
}

TEST(MapPlotTest, rows_go_up_and_columns_to_the_right) {
  const auto field = [](std::size_t kind, const char* text) { return MapField{.kind = kind, .text = text}; };
  const std::string svg =
      to_svg(MapPlot{.title = "t",
                     .columns = {"a", "b"},
                     .rows = {"low", "high"},
                     .kinds = {"k0", "k1"},
                     .fields = {{field(0, "1"), field(1, "2")}, {std::nullopt, field(0, "3")}}});
  const auto x = numbers(svg, "rect", "x");
  const auto y = numbers(svg, "rect", "y");
  ASSERT_EQ(x.size(), 5U);
  EXPECT_LT(x[0], x[1]);
  EXPECT_EQ(y[0], y[1]);
  EXPECT_EQ(x[1], x[2]);
  EXPECT_GT(y[1], y[2]);
}

}  // namespace
}  // namespace millrace::report
