#include "millrace/report/plot/svg.h"

#include "millrace/base/text/escaped_markup.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace millrace::report {
namespace {

std::string_view name_of(Anchor anchor) {
  switch (anchor) {
  case Anchor::start:
    return "start";
  case Anchor::middle:
    return "middle";
  case Anchor::end:
    break;
  }
  return "end";
}

std::string spaced(std::string_view more) { return more.empty() ? "" : fmt::format(" {}", more); }

}  // namespace

std::vector<double> round_ticks(double low, double high) {
  const double rough = (high - low) / 6;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> ticks;
  for (double i = std::floor(low / step + 1e-9); i * step < high + step * (1 - 1e-9); ++i)
    ticks.push_back(i * step);
  return ticks;
}

std::vector<double> logarithmic_ticks(double low, double high) {
  std::vector<double> ticks;
  const int last = static_cast<int>(std::floor(std::log10(high)));
  for (int power = static_cast<int>(std::floor(std::log10(low))); power <= last; ++power) {
    for (const double step : {1.0, 2.0, 5.0}) {
      const double tick = step * std::pow(10, power);
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push_back(tick);
    }
  }
  return ticks;
}

Axis::Axis(double low, double high, double begin, double end, Scale scale)
    : scale_(scale), low_(scale == Scale::logarithmic ? std::log(low) : low),
      span_(std::max((scale == Scale::logarithmic ? std::log(high) : high) - low_, 1e-9)), begin_(begin),
      length_(end - begin) {}

double Axis::operator()(double value) const {
  const double at = scale_ == Scale::logarithmic ? std::log(value) : value;
  return begin_ + (at - low_) / span_ * length_;
}

Svg::Svg(double width, double height, std::string_view label, std::string_view more)
    : body_(fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\" "
                        "aria-label=\"{}\"{}>\n",
                        width, height, escaped_markup(label), spaced(more))) {}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view more) {
  body_ += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"{}/>\n", x1, y1, x2, y2,
                       spaced(more));
}

void Svg::polyline(const std::vector<std::pair<double, double>>& points, std::string_view more) {
  body_ += "<polyline points=\"";
  for (const auto& [x, y] : points)
    body_ += fmt::format("{:.1f},{:.1f} ", x, y);
  body_ += fmt::format("\"{}/>\n", spaced(more));
}

void Svg::circle(double x, double y, double radius, std::string_view more) {
  body_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"{}/>\n", x, y, radius, spaced(more));
}

void Svg::rectangle(double x, double y, double width, double height, std::string_view more,
                    std::string_view tip) {
  body_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"{}", x, y, width,
                       height, spaced(more));
  body_ += tip.empty() ? "/>\n" : fmt::format("><title>{}</title></rect>\n", escaped_markup(tip));
}

void Svg::text(double x, double y, Anchor anchor, std::string_view text, std::string_view more) {
  body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                       name_of(anchor), spaced(more), escaped_markup(text));
}

}  // namespace millrace::report
