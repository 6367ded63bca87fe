#include "millrace/model/report/plot.h"

#include "millrace/base/printable.h"
#include "millrace/model/pipeline/duration_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include <fmt/format.h>

namespace millrace::model {
namespace {

constexpr double left = 76;
constexpr double right = 560;
constexpr double top = 44;
constexpr double bottom = 388;
// In the order of all_strategies; told apart also by those who see few colours (after Okabe and Ito).
constexpr std::array<std::string_view, 4> colours{"#0072b2", "#e69f00", "#009e73", "#d55e00"};

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    switch (c) {
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '&':
      result += "&amp;";
      break;
    default:
      result += c;
    }
  }
  return result;
}

// A logarithmic axis from `low` to `high` over the pixels from `begin` to `end`.
class Axis {
 public:
  Axis(double low, double high, double begin, double end)
      : low_(std::log(low)), span_(std::max(std::log(high) - low_, 1e-9)), begin_(begin),
        length_(end - begin) {}
  [[nodiscard]] double operator()(double value) const {
    return begin_ + (std::log(value) - low_) / span_ * length_;
  }

 private:
  double low_;
  double span_;
  double begin_;
  double length_;
};

// 1, 2 and 5 times powers of ten between the two.
std::vector<double> ticks(double low, double high) {
  std::vector<double> result;
  const int last = static_cast<int>(std::floor(std::log10(high)));
  for (int power = static_cast<int>(std::floor(std::log10(low))); power <= last; ++power) {
    for (const double step : {1.0, 2.0, 5.0}) {
      const double tick = step * std::pow(10, power);
      if (tick >= low * 0.999 && tick <= high * 1.001) result.push_back(tick);
    }
  }
  return result;
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text,
                    std::string_view more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                     escaped(text));
}

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

std::string draw_strategy(const ModelReport& report, Strategy strategy, const Axis& x, const Axis& y,
                          double legend) {
  const auto index =
      static_cast<std::size_t>(std::ranges::find(all_strategies, strategy) - all_strategies.begin());
  const std::string_view colour = colours[index];
  std::string line;
  std::string upper;
  std::string lower;
  std::string dots;
  for (const ModelRow& row : report.rows) {
    if (row.plan.strategy != strategy) continue;
    const double at = x(row.asked);
    const double point = y(row.prediction.point_seconds);
    line += fmt::format("{:.1f},{:.1f} ", at, point);
    upper += fmt::format("{:.1f},{:.1f} ", at, y(row.prediction.high_seconds));
    lower.insert(0, fmt::format("{:.1f},{:.1f} ", at, y(std::max(row.prediction.low_seconds, 1e-12))));
    dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\" fill=\"{}\"/>\n", at, point, colour);
  }
  return fmt::format("<polygon points=\"{}{}\" fill=\"{}\" opacity=\"0.15\"/>\n", upper, lower, colour) +
         fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"/>\n", line,
                     colour) +
         dots +
         fmt::format("<line x1=\"578\" x2=\"602\" y1=\"{0:.1f}\" y2=\"{0:.1f}\" stroke=\"{1}\" "
                     "stroke-width=\"2.5\"/>\n",
                     legend, colour) +
         text_at(610, legend + 4, "start", to_string(strategy));
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
  const Axis x(*cores.begin(), std::max(*cores.rbegin(), *cores.begin() + 1), left, right);
  const Axis y(low, high, bottom, top);

  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 440\" width=\"720\" height=\"440\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n"
      "<rect width=\"720\" height=\"440\" fill=\"white\"/>\n"
      "<clipPath id=\"plot\"><rect x=\"76\" y=\"44\" width=\"484\" height=\"344\"/></clipPath>\n";
  svg += text_at(left, 26, "start", fmt::format("Predicted time of {} items against {}", report.items, unit),
                 " font-size=\"15\"");
  for (const double tick : ticks(low, high)) {
    svg += fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n", left,
                       right, y(tick), y(tick));
    svg += text_at(left - 8, y(tick) + 4, "end", seconds_text(tick));
  }
  double labelled = 0;  // where the last label stands
  for (const int count : cores) {
    svg += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#999\"/>\n",
                       x(count), bottom, bottom + 4);
    if (x(count) - labelled < 22) continue;
    labelled = x(count);
    svg += text_at(x(count), bottom + 18, "middle", std::to_string(count));
  }
  svg += text_at((left + right) / 2, bottom + 38, "middle", unit);
  svg += "<g clip-path=\"url(#plot)\">\n";
  if (report.serial_seconds > 0) {
    svg += fmt::format("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#666\" "
                       "stroke-dasharray=\"5 4\"/>\n",
                       left, right, y(report.serial_seconds));
  }
  svg += "</g>\n";
  double legend = top + 12;
  for (const Strategy strategy : all_strategies) {
    if (std::ranges::none_of(report.rows, [&](const ModelRow& row) { return row.plan.strategy == strategy; }))
      continue;
    svg += draw_strategy(report, strategy, x, y, legend);
    legend += 22;
  }
  if (report.serial_seconds > 0) {
    svg += fmt::format(
        "<line x1=\"578\" x2=\"602\" y1=\"{0:.1f}\" y2=\"{0:.1f}\" stroke=\"#666\" stroke-dasharray=\"5 "
        "4\"/>\n",
        legend);
    svg += text_at(610, legend + 4, "start", fmt::format("serial: {}", report.slowest_serial.substr(0, 12)));
    legend += 22;
  }
  for (const MeasuredTime& time : measured) {
    svg += fmt::format(
        "<path d=\"M{0:.1f} {1:.1f}l10 10m0 -10l-10 10\" stroke=\"#000\" stroke-width=\"1.8\"/>\n",
        x(time.cores) - 5, y(time.seconds) - 5);
    svg += text_at(578, legend + 4, "start", fmt::format("x  measured, {}", time.name.substr(0, 14)));
    legend += 22;
  }
  return svg + "</svg>\n";
}

}  // namespace millrace::model
