// Svg: builds pictures for a page, element by element.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::report {

// About 4 to 10 round numbers that cover the range; low < high, both finite.
[[nodiscard]] std::vector<double> round_ticks(double low, double high);

// 1, 2 and 5 times powers of ten within the range; 0 < low <= high.
[[nodiscard]] std::vector<double> logarithmic_ticks(double low, double high);

// Maps a value to a coordinate: `low` to pixel `begin`, `high` to pixel `end`.
class Axis {
 public:
  enum class Scale { linear, logarithmic };
  Axis(double low, double high, double begin, double end, Scale scale = Scale::linear);
  [[nodiscard]] double operator()(double value) const;

 private:
  Scale scale_;
  double low_;
  double span_;
  double begin_;
  double length_;
};

enum class Anchor { start, middle, end };

// Coordinates are in pixels from the upper left corner. Colours come from classes of the containing page or
// from attributes. `more` is inserted into an element as it is.
class Svg {
 public:
  // label: a description of the picture for readers who cannot see it.
  Svg(double width, double height, std::string_view label, std::string_view more = "");

  void line(double x1, double y1, double x2, double y2, std::string_view more = "");
  void polyline(const std::vector<std::pair<double, double>>& points, std::string_view more = "");
  void circle(double x, double y, double radius, std::string_view more = "");
  // tip: tooltip.
  void rectangle(double x, double y, double width, double height, std::string_view more = "",
                 std::string_view tip = "");
  void text(double x, double y, Anchor anchor, std::string_view text, std::string_view more = "");
  void element(std::string_view element) { body_ += element; }

  [[nodiscard]] std::string str() const { return body_ + "</svg>\n"; }

 private:
  std::string body_;
};

}  // namespace millrace::report
