// Svg: pictures for a page, element by element.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::report {

// 4 to 10 round numbers, or so, that cover what lies between the two; low < high, both finite.
[[nodiscard]] std::vector<double> round_ticks(double low, double high);

// 1, 2 and 5 times powers of ten between the two; 0 < low <= high.
[[nodiscard]] std::vector<double> logarithmic_ticks(double low, double high);

// Where a value lies on the picture: from `low` at pixel `begin` to `high` at pixel `end`.
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

// Coordinates in pixels from the upper left corner, colours by classes of the page that holds the picture or
// by attributes: `more` goes into an element as it is.
class Svg {
 public:
  // label: what the picture shows, for who cannot see it.
  Svg(double width, double height, std::string_view label, std::string_view more = "");

  void line(double x1, double y1, double x2, double y2, std::string_view more = "");
  void polyline(const std::vector<std::pair<double, double>>& points, std::string_view more = "");
  void circle(double x, double y, double radius, std::string_view more = "");
  // tip: shown where one points at it.
  void rectangle(double x, double y, double width, double height, std::string_view more = "",
                 std::string_view tip = "");
  void text(double x, double y, Anchor anchor, std::string_view text, std::string_view more = "");
  void element(std::string_view element) { body_ += element; }

  [[nodiscard]] std::string str() const { return body_ + "</svg>\n"; }

 private:
  std::string body_;
};

}  // namespace millrace::report
