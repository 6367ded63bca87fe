#include "millrace/image/adapt/kernel_work.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace millrace::image {
namespace {

constexpr double of_window = 2;  // neighbours share most of what they read
constexpr double of_gather = 8;
constexpr double gathered_read = 2;  // a quarter of a gather, which reads four

double reads_of(const StageLayout& stage) {
  if (stage.filter->simple().access == Access::pointwise) return 1;
  if (stage.filter->simple().access == Access::gather) return 4;
  // In the middle, because footprints of formulas are clamped at edges.
  const int x = stage.output.size.width / 2;
  const int y = stage.output.size.height / 2;
  const Rect pixel{x, y, x + 1, y + 1};
  return static_cast<double>(
      stage.filter->simple().footprint(pixel, stage.input, stage.coefficients).pixels());
}

// gathered: a gather reads its pixels, so they are scattered.
double weight_of(const StageLayout& stage, bool gathered) {
  const Access access = stage.filter->simple().access;
  if (access == Access::gather) return of_gather;
  if (!reads_around(access)) return 1;
  return gathered ? gathered_read * reads_of(stage) : of_window;
}

// How often a stage is computed per output pixel.
struct Times {
  double in_place = 0;  // by points at the same place, which share it
  double spread = 0;    // by others, which hardly share it
  bool gathered = false;

  [[nodiscard]] double sum() const { return in_place + spread; }
};

}  // namespace

double kernel_work(const Group& group) {
  std::vector<Times> times(group.layouts.size());
  times.back().in_place = 1;
  double work = 0;
  for (std::size_t s = group.layouts.size(); s-- > 0;) {
    const StageLayout& stage = group.layouts[s];
    const double now = times[s].sum();
    // Conversions are single operations that readers mostly share.
    work += stage.node < 0 ? 1 : now * weight_of(stage, times[s].gathered);
    const bool in_place = stage.filter->simple().access == Access::pointwise && !stage.filter->geometric;
    for (const int input : group.spec.stages[s].inputs) {
      if (input < 0) continue;
      Times& read = times[static_cast<std::size_t>(input)];
      if (in_place)
        read.in_place = std::max(read.in_place, now);
      else
        read.spread += now * reads_of(stage);
      read.gathered = read.gathered || times[s].gathered || stage.filter->simple().access == Access::gather;
    }
  }
  return work;
}

}  // namespace millrace::image
