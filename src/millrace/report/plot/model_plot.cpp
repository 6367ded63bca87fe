#include "millrace/report/plot/model_plot.h"

#include "millrace/model/pipeline/duration_text.h"
#include "millrace/report/plot/svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace millrace::report {
namespace {

using model::ModelReport;
using model::ModelRow;
using model::Strategy;

constexpr double left = 76;
constexpr double right = 560;
constexpr double top = 44;
constexpr double bottom = 388;
// In the order of all_strategies. Colours safe for colour-blind readers (after Okabe and Ito).
constexpr std::array<std::string_view, 4> colours{"#0072b2", "#e69f00", "#009e73", "#d55e00"};

struct Range {
  double low;
  double high;
};

Range time_range(const ModelReport& report, const std::vector<MeasuredTime>& measured) {
  double low = report.serial_seconds > 0 ? report.serial_seconds : report.sequential_seconds;
  double high = report.sequential_seconds;
  for (const ModelRow& row : report.rows) {
    low = std::min(low, row.prediction.point_seconds);
    high = std::max(high, row.prediction.point_seconds);
  }
  for (const MeasuredTime& time : measured) {
    low = std::min(low, time.seconds);
    high = std::max(high, time.seconds);
  }
  return {low / 1.2, high * 1.2};
}

void draw_strategy(Svg& svg, const ModelReport& report, Strategy strategy, const Axis& x, const Axis& y,
                   double legend) {
  const auto index = static_cast<std::size_t>(std::ranges::find(model::all_strategies, strategy) -
                                              model::all_strategies.begin());
  const std::string_view colour = colours[index];
  std::vector<std::pair<double, double>> line;
  std::string upper;
  std::string lower;
  for (const ModelRow& row : report.rows) {
    if (row.plan.strategy != strategy) continue;
    const double at = x(row.asked);
    line.emplace_back(at, y(row.prediction.point_seconds));
    upper += fmt::format("{:.1f},{:.1f} ", at, y(row.prediction.high_seconds));
    lower.insert(0, fmt::format("{:.1f},{:.1f} ", at, y(std::max(row.prediction.low_seconds, 1e-12))));
  }
  svg.element(fmt::format("<polygon points=\"{}{}\" fill=\"{}\" opacity=\"0.15\"/>\n", upper, lower, colour));
  svg.polyline(line, fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"", colour));
  for (const auto& [at, point] : line)
    svg.circle(at, point, 2.6, fmt::format("fill=\"{}\"", colour));
  svg.line(578, legend, 602, legend, fmt::format("stroke=\"{}\" stroke-width=\"2.5\"", colour));
  svg.text(610, legend + 4, Anchor::start, model::to_string(strategy));
}

}  // namespace

std::string plot_svg(const ModelReport& report, const std::vector<MeasuredTime>& measured) {
  std::set<int> cores;
  for (const ModelRow& row : report.rows)
    cores.insert(row.asked);
  for (const MeasuredTime& time : measured)
    cores.insert(time.cores);
  const std::string_view unit = report.of_runtime ? "threads" : "cores";
  const auto [low, high] = time_range(report, measured);
  const Axis x(*cores.begin(), std::max(*cores.rbegin(), *cores.begin() + 1), left, right,
               Axis::Scale::logarithmic);
  const Axis y(low, high, bottom, top, Axis::Scale::logarithmic);

  const std::string title = fmt::format("Predicted time of {} items against {}", report.items, unit);
  Svg svg(720, 440, title,
          "width=\"720\" height=\"440\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\"");
  svg.rectangle(0, 0, 720, 440, "fill=\"white\"");
  svg.element("<clipPath id=\"plot\"><rect x=\"76\" y=\"44\" width=\"484\" height=\"344\"/></clipPath>\n");
  svg.text(left, 26, Anchor::start, title, "font-size=\"15\"");
  for (const double tick : logarithmic_ticks(low, high)) {
    svg.line(left, y(tick), right, y(tick), "stroke=\"#ddd\"");
    svg.text(left - 8, y(tick) + 4, Anchor::end, model::seconds_text(tick));
  }
  double labelled = 0;  // position of the last label
  for (const int count : cores) {
    svg.line(x(count), bottom, x(count), bottom + 4, "stroke=\"#999\"");
    if (x(count) - labelled < 22) continue;
    labelled = x(count);
    svg.text(x(count), bottom + 18, Anchor::middle, std::to_string(count));
  }
  svg.text((left + right) / 2, bottom + 38, Anchor::middle, unit);
  constexpr std::string_view dashed = "stroke=\"#666\" stroke-dasharray=\"5 4\"";
  if (report.serial_seconds > 0) {
    svg.element("<g clip-path=\"url(#plot)\">\n");
    svg.line(left, y(report.serial_seconds), right, y(report.serial_seconds), dashed);
    svg.element("</g>\n");
  }
  double legend = top + 12;
  for (const Strategy strategy : model::all_strategies) {
    if (std::ranges::none_of(report.rows, [&](const ModelRow& row) { return row.plan.strategy == strategy; }))
      continue;
    draw_strategy(svg, report, strategy, x, y, legend);
    legend += 22;
  }
  if (report.serial_seconds > 0) {
    svg.line(578, legend, 602, legend, dashed);
    svg.text(610, legend + 4, Anchor::start, fmt::format("serial: {}", report.slowest_serial.substr(0, 12)));
    legend += 22;
  }
  for (const MeasuredTime& time : measured) {
    svg.element(
        fmt::format("<path d=\"M{:.1f} {:.1f}l10 10m0 -10l-10 10\" stroke=\"#000\" stroke-width=\"1.8\"/>\n",
                    x(time.cores) - 5, y(time.seconds) - 5));
    svg.text(578, legend + 4, Anchor::start, fmt::format("x  measured, {}", time.name.substr(0, 14)));
    legend += 22;
  }
  return svg.str();
}

}  // namespace millrace::report
