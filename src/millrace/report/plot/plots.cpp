#include "millrace/report/plot/plots.h"

#include "millrace/report/plot/svg.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace millrace::report {
namespace {

constexpr double plot_width = 560;
constexpr double plot_left = 64;
constexpr double plot_right = 548;
constexpr double plot_top = 56;
constexpr double plot_bottom = 296;
constexpr double legend_step = 22;

std::string series_class(std::size_t series) { return fmt::format("class=\"s{}\"", series % most_colours); }

// Names of series in rows below the plot: two per row, or one if a name is long.
class Legend {
 public:
  explicit Legend(const std::vector<std::string>& names)
      : in_a_line_(std::ranges::any_of(names, [](const auto& name) { return name.size() > longest_of_two; })
                       ? 1
                       : 2),
        lines_((names.size() + in_a_line_ - 1) / in_a_line_) {}

  [[nodiscard]] double height() const { return 44 + legend_step * static_cast<double>(lines_); }
  [[nodiscard]] std::pair<double, double> place(std::size_t entry) const {
    const std::size_t line = entry / in_a_line_;
    return {entry % in_a_line_ == 0 ? plot_left : (plot_left + plot_right) / 2 + 10,
            plot_bottom + 58 + legend_step * static_cast<double>(line)};
  }

 private:
  static constexpr std::size_t longest_of_two = 28;
  std::size_t in_a_line_;
  std::size_t lines_;
};

template <class Series> std::vector<std::string> names_of(const std::vector<Series>& all) {
  std::vector<std::string> names;
  for (const Series& series : all)
    names.push_back(series.name);
  return names;
}

void draw_frame(Svg& svg, std::string_view title, std::string_view x_label, std::string_view y_label) {
  svg.text(plot_left, 20, Anchor::start, title, "class=\"title\"");
  svg.text(plot_left, 42, Anchor::start, y_label, "class=\"label\"");
  svg.text((plot_left + plot_right) / 2, plot_bottom + 38, Anchor::middle, x_label, "class=\"label\"");
}

// The range of an axis: includes 0, every value and every interval, unless a long interval would make the
// values indistinguishable. It goes below 0 only for negative values, or if all values are `differences`.
// Other intervals are clipped at 0.
class Extent {
 public:
  explicit Extent(bool differences = false) : below_(differences) {}

  void add(const PlotValue& value) {
    below_ = below_ || value.mean < 0;
    largest_ = std::max(largest_, std::abs(value.mean));
    mean_low_ = std::min(mean_low_, value.mean);
    mean_high_ = std::max(mean_high_, value.mean);
    low_ = std::min(low_, value.known ? value.low : value.mean);
    high_ = std::max(high_, value.known ? value.high : value.mean);
  }
  void add(double value) { add(PlotValue{value, value, value}); }

  [[nodiscard]] double least() const {
    return below_ ? std::min(mean_low_, std::max(low_, -most_of_largest * largest_)) : 0;
  }
  [[nodiscard]] double most() const {
    const double most = std::max(mean_high_, std::min(high_, most_of_largest * largest_));
    return most > least() ? most : 1;
  }

 private:
  static constexpr double most_of_largest = 1.5;
  bool below_;
  double largest_ = 0;
  double mean_low_ = 0;
  double mean_high_ = 0;
  double low_ = 0;
  double high_ = 0;
};

Axis draw_y_axis(Svg& svg, const Extent& extent) {
  const std::vector<double> ticks = round_ticks(extent.least(), extent.most());
  const Axis y(ticks.front(), ticks.back(), plot_bottom, plot_top);
  for (const double tick : ticks) {
    svg.line(plot_left, y(tick), plot_right, y(tick), tick == 0 ? "class=\"axis\"" : "class=\"grid\"");
    svg.text(plot_left - 8, y(tick) + 5, Anchor::end, fmt::format("{:.4g}", tick));
  }
  return y;
}

// Clipped to the plot. A clipped end has no bar.
void draw_whisker(Svg& svg, double x, const Axis& y, const PlotValue& value) {
  if (!value.known) return;
  svg.line(x, std::clamp(y(value.low), plot_top, plot_bottom), x,
           std::clamp(y(value.high), plot_top, plot_bottom), "class=\"whisker\"");
  for (const double end : {y(value.low), y(value.high)}) {
    if (end >= plot_top && end <= plot_bottom) svg.line(x - 3, end, x + 3, end, "class=\"whisker\"");
  }
}

// In two lines if it is too long for one.
void draw_group_name(Svg& svg, double middle, double width, std::string_view name) {
  constexpr double letter_width = 7.5;
  const std::size_t blank = name.rfind(' ');
  const bool fits = letter_width * static_cast<double>(name.size()) <= width;
  const std::size_t first = fits || blank == std::string_view::npos ? name.size() : blank;
  svg.text(middle, plot_bottom + 20, Anchor::middle, name.substr(0, first));
  if (first < name.size()) svg.text(middle, plot_bottom + 37, Anchor::middle, name.substr(first + 1));
}

std::string text_of(const PlotValue& value) {
  if (!value.known) return fmt::format("{:.4g} (interval not known)", value.mean);
  return fmt::format("{:.4g} ({:.4g} to {:.4g})", value.mean, value.low, value.high);
}

}  // namespace

std::string to_svg(const LinePlot& plot) {
  std::vector<std::string> names;
  for (const LineSeries& series : plot.series)
    names.push_back(series.points.empty() ? series.name + " (not here)" : series.name);
  if (plot.diagonal) names.emplace_back("linear");
  const Legend legend(names);
  Svg svg(plot_width, plot_bottom + legend.height(), plot.title);
  draw_frame(svg, plot.title, plot.x_label, plot.y_label);
  std::set<double> at;
  Extent extent;
  for (const LineSeries& series : plot.series) {
    for (const LinePoint& point : series.points) {
      at.insert(point.x);
      extent.add(point.y);
    }
  }
  if (at.empty()) {
    svg.text((plot_left + plot_right) / 2, (plot_top + plot_bottom) / 2, Anchor::middle,
             "nothing could be measured here");
    return svg.str();
  }
  if (plot.diagonal) extent.add(*at.rbegin());
  const Axis y = draw_y_axis(svg, extent);
  const double span = *at.rbegin() - *at.begin();
  // A single value is centred.
  const Axis x = span > 0 ? Axis(*at.begin(), *at.rbegin(), plot_left + 24, plot_right - 24)
                          : Axis(*at.begin() - 1, *at.begin() + 1, plot_left + 24, plot_right - 24);
  double labelled = -100;
  for (const double value : at) {
    svg.line(x(value), plot_bottom, x(value), plot_bottom + 5, "class=\"axis\"");
    if (x(value) - labelled < 24) continue;
    labelled = x(value);
    svg.text(x(value), plot_bottom + 20, Anchor::middle, fmt::format("{:g}", value));
  }
  if (plot.diagonal && span > 0)
    svg.line(x(*at.begin()), y(*at.begin()), x(*at.rbegin()), y(*at.rbegin()), "class=\"faint\"");
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    const LineSeries& series = plot.series[s];
    svg.element(fmt::format("<g {}>\n", series_class(s)));
    std::vector<std::pair<double, double>> line;
    for (const LinePoint& point : series.points)
      line.emplace_back(x(point.x), y(point.y.mean));
    if (line.size() > 1) svg.polyline(line, "class=\"line\"");
    for (const LinePoint& point : series.points) {
      draw_whisker(svg, x(point.x), y, point.y);
      svg.circle(x(point.x), y(point.y.mean), 4, "class=\"fill\"");
    }
    const auto [legend_x, legend_y] = legend.place(s);
    svg.line(legend_x, legend_y - 4, legend_x + 26, legend_y - 4, "class=\"line\"");
    svg.circle(legend_x + 13, legend_y - 4, 4, "class=\"fill\"");
    svg.element("</g>\n");
    svg.text(legend_x + 34, legend_y, Anchor::start, names[s]);
  }
  if (plot.diagonal) {
    const auto [legend_x, legend_y] = legend.place(plot.series.size());
    svg.line(legend_x, legend_y - 4, legend_x + 26, legend_y - 4, "class=\"faint\"");
    svg.text(legend_x + 34, legend_y, Anchor::start, names.back());
  }
  return svg.str();
}

std::string to_svg(const BarPlot& plot) {
  const Legend legend(names_of(plot.series));
  Svg svg(plot_width, plot_bottom + legend.height(), plot.title);
  draw_frame(svg, plot.title, "", plot.y_label);
  Extent extent(plot.reference == 0);
  for (const BarSeries& series : plot.series) {
    for (const auto& bar : series.bars) {
      if (bar) extent.add(*bar);
    }
  }
  if (plot.reference) extent.add(*plot.reference);
  const Axis y = draw_y_axis(svg, extent);
  if (plot.reference)
    svg.line(plot_left, y(*plot.reference), plot_right, y(*plot.reference), "class=\"faint\"");
  const double group_width =
      (plot_right - plot_left) / static_cast<double>(std::max<std::size_t>(plot.groups.size(), 1));
  const double bar_width =
      0.8 * group_width / static_cast<double>(std::max<std::size_t>(plot.series.size(), 1));
  for (std::size_t g = 0; g < plot.groups.size(); ++g)
    draw_group_name(svg, plot_left + (static_cast<double>(g) + 0.5) * group_width, group_width,
                    plot.groups[g]);
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    const BarSeries& series = plot.series[s];
    svg.element(fmt::format("<g {}>\n", series_class(s)));
    for (std::size_t g = 0; g < std::min(plot.groups.size(), series.bars.size()); ++g) {
      if (!series.bars[g]) continue;
      const PlotValue& bar = *series.bars[g];
      const double x =
          plot_left + (static_cast<double>(g) + 0.1) * group_width + static_cast<double>(s) * bar_width;
      svg.rectangle(x, std::min(y(bar.mean), y(0)), bar_width * 0.92, std::abs(y(0) - y(bar.mean)),
                    "class=\"fill\"", fmt::format("{}, {}: {}", plot.groups[g], series.name, text_of(bar)));
      draw_whisker(svg, x + bar_width * 0.46, y, bar);
    }
    const auto [legend_x, legend_y] = legend.place(s);
    svg.rectangle(legend_x, legend_y - 12, 26, 13, "class=\"fill\"");
    svg.element("</g>\n");
    svg.text(legend_x + 34, legend_y, Anchor::start, series.name);
  }
  return svg.str();
}

std::string to_svg(const MapPlot& plot) {
  const Legend legend(plot.kinds);
  Svg svg(plot_width, plot_bottom + legend.height(), plot.title);
  draw_frame(svg, plot.title, plot.x_label, plot.y_label);
  const double field_width =
      (plot_right - plot_left) / static_cast<double>(std::max<std::size_t>(plot.columns.size(), 1));
  const double field_height =
      (plot_bottom - plot_top) / static_cast<double>(std::max<std::size_t>(plot.rows.size(), 1));
  for (std::size_t c = 0; c < plot.columns.size(); ++c)
    svg.text(plot_left + (static_cast<double>(c) + 0.5) * field_width, plot_bottom + 20, Anchor::middle,
             plot.columns[c]);
  for (std::size_t r = 0; r < plot.rows.size(); ++r) {
    const double y = plot_bottom - static_cast<double>(r + 1) * field_height;
    svg.text(plot_left - 8, y + field_height / 2 + 5, Anchor::end, plot.rows[r]);
    for (std::size_t c = 0; c < plot.columns.size(); ++c) {
      const auto& field = plot.fields[r][c];
      if (!field) continue;
      const double x = plot_left + static_cast<double>(c) * field_width;
      svg.element(fmt::format("<g {}>\n", series_class(field->kind)));
      svg.rectangle(x + 1, y + 1, field_width - 2, field_height - 2,
                    field->pale ? "class=\"fill pale\"" : "class=\"fill\"", field->tip);
      svg.element("</g>\n");
      svg.text(x + field_width / 2, y + field_height / 2 + 5, Anchor::middle, field->text,
               field->pale ? "class=\"label\"" : "class=\"on-fill\"");
    }
  }
  for (std::size_t k = 0; k < plot.kinds.size(); ++k) {
    const auto [legend_x, legend_y] = legend.place(k);
    svg.element(fmt::format("<g {}>\n", series_class(k)));
    svg.rectangle(legend_x, legend_y - 12, 26, 13, "class=\"fill\"");
    svg.element("</g>\n");
    svg.text(legend_x + 34, legend_y, Anchor::start, plot.kinds[k]);
  }
  return svg.str();
}

// Colours safe for colour-blind readers (after Okabe and Ito), lighter on a dark background.
std::string_view plot_style() {
  return R"(:root { --ink: #222; --ground: #fff; --soft: #666; --grid: #ddd; --edge: #999; --on: #fff;
  --c0: #0072b2; --c1: #b86b00; --c2: #00805d; --c3: #c04a00; --c4: #a8508a; --c5: #555; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e4e4; --ground: #16181b; --soft: #a5a5a5;
  --grid: #34373c; --edge: #777; --on: #111; --c0: #56b4e9; --c1: #e69f00; --c2: #2fc79b; --c3: #ff8a4c;
  --c4: #e09bc6; --c5: #bbb; } }
svg { width: 100%; height: auto; display: block; font: 14px sans-serif; }
svg text { fill: var(--ink); }
svg .title { font-size: 15px; font-weight: bold; }
svg .label { fill: var(--soft); }
svg .on-fill { fill: var(--on); }
svg .grid { stroke: var(--grid); }
svg .axis { stroke: var(--edge); }
svg .faint { stroke: var(--edge); stroke-dasharray: 5 4; }
svg .line { fill: none; stroke: currentColor; stroke-width: 2; }
svg .fill { fill: currentColor; stroke: none; }
svg .pale { fill-opacity: 0.25; }
svg .whisker { stroke: var(--ink); stroke-width: 1; stroke-opacity: 0.7; }
.s0 { color: var(--c0); } .s1 { color: var(--c1); } .s2 { color: var(--c2); }
.s3 { color: var(--c3); } .s4 { color: var(--c4); } .s5 { color: var(--c5); }
)";
}

}  // namespace millrace::report
