#include "millrace/image/adapt/tile_work.h"

#include "millrace/image/adapt/kernel_work.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace millrace::image {
namespace {

// By group: work per pixel of its output.
std::vector<double> weights_of(const GroupLayout& layout) {
  std::vector<double> weights;
  weights.reserve(layout.groups.size());
  for (const Group& group : layout.groups)
    weights.push_back(kernel_work(group));
  return weights;
}

// Work of computing `rect` of the output, with everything it needs from earlier groups.
double work_of(const GroupLayout& layout, const std::vector<double>& weights, const Rect& rect) {
  std::vector<Rect> regions(layout.groups.size());
  required_of_groups(layout, rect, regions);
  double work = 0;
  for (std::size_t g = 0; g < regions.size(); ++g)
    work += static_cast<double>(regions[g].pixels()) * weights[g];
  return work;
}

}  // namespace

double frame_work(const GroupLayout& layout) {
  return work_of(layout, weights_of(layout), whole(layout.output().size()));
}

double tile_work(const GroupLayout& layout, Size tile) {
  const Rect all = whole(layout.output().size());
  const Size size{tile.width > 0 ? std::min(tile.width, all.width()) : all.width(),
                  tile.height > 0 ? std::min(tile.height, all.height()) : all.height()};
  const std::vector<double> weights = weights_of(layout);
  const double once = work_of(layout, weights, all);
  if (!(once > 0)) return 1;
  double work = 0;
  double pixels = 0;
  // Samples the tiles around the centre and the centres of the four quarters.
  for (const auto& [x, y] : std::array<std::array<int, 2>, 5>{{{2, 2}, {1, 1}, {3, 1}, {1, 3}, {3, 3}}}) {
    const int x0 = std::clamp(all.width() * x / 4 - size.width / 2, 0, all.width() - size.width);
    const int y0 = std::clamp(all.height() * y / 4 - size.height / 2, 0, all.height() - size.height);
    const Rect rect{x0, y0, x0 + size.width, y0 + size.height};
    work += work_of(layout, weights, rect);
    pixels += static_cast<double>(rect.pixels());
  }
  return std::max(1.0, work / pixels * static_cast<double>(all.pixels()) / once);
}

}  // namespace millrace::image
