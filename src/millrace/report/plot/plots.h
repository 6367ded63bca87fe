// The kinds of plots in reports, as inline SVG. Colours and lines come from the classes s0, s1, ... (series),
// grid, axis and faint, which plot_style() defines for a page.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::report {

// A value and its interval; all finite.
struct PlotValue {
  double mean = 0;
  double low = 0;
  double high = 0;
  bool known = true;  // whether low and high are meaningful; otherwise they are not shown
};

struct LinePoint {
  double x = 0;
  PlotValue y;
};

struct LineSeries {
  std::string name;
  std::vector<LinePoint> points;  // by x; empty if nothing could be measured
};

struct LinePlot {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<LineSeries> series;
  bool diagonal = false;  // a faint line y = x, labelled "linear"
};

struct BarSeries {
  std::string name;
  std::vector<std::optional<PlotValue>> bars;  // one per group
};

struct BarPlot {
  std::string title;
  std::string y_label;
  std::vector<std::string> groups;
  std::vector<BarSeries> series;
  std::optional<double> reference;  // a faint line; 0: bars are differences whose intervals may be negative
};

// A table of coloured fields. Each field has the index of its kind.
struct MapField {
  std::size_t kind = 0;
  std::string text;
  std::string tip;
  bool pale = false;  // another kind is as good
};

struct MapPlot {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<std::string> columns;
  std::vector<std::string> rows;  // from bottom to top
  std::vector<std::string> kinds;
  std::vector<std::vector<std::optional<MapField>>> fields;  // by row and column
};

// If there are more series or kinds, they share colours.
inline constexpr std::size_t most_colours = 6;

[[nodiscard]] std::string to_svg(const LinePlot& plot);
[[nodiscard]] std::string to_svg(const BarPlot& plot);
[[nodiscard]] std::string to_svg(const MapPlot& plot);

// The style sheet for pages with plots: light, or dark if the reader's system is.
[[nodiscard]] std::string_view plot_style();

}  // namespace millrace::report
