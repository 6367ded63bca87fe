#include "millrace/image/adapt/kernel_work.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace millrace::image {
namespace {

constexpr double of_window = 2;  // neighbours have most of what they read in common
constexpr double of_gather = 8;
constexpr double gathered_read = 2;  // a quarter of a gather, which reads four

int reads_of(Access access) {
  switch (access) {
  case Access::pointwise:
    return 1;
  case Access::stencil:
    return 9;
  case Access::window:
    return 25;
  case Access::gather:
    return 4;
  }
  return 1;
}

// gathered: its pixels are asked for by a gather, and so lie apart.
double weight_of(Access access, bool gathered) {
  if (access == Access::gather) return of_gather;
  if (!reads_around(access)) return 1;
  return gathered ? gathered_read * reads_of(access) : of_window;
}

}  // namespace

double kernel_work(const KernelSpec& spec) {
  std::vector<double> times(spec.stages.size(), 0);
  std::vector<bool> gathered(spec.stages.size(), false);
  times.back() = 1;
  double work = 0;
  for (std::size_t s = spec.stages.size(); s-- > 0;) {
    const Filter& filter = *spec.stages[s].filter;
    const bool converts = filter.input_type != filter.output_type;  // single operations, most of them shared
    work += (converts ? std::min(times[s], 1.0) : times[s]) * weight_of(filter.access, gathered[s]);
    for (const int input : spec.stages[s].inputs) {
      if (input < 0) continue;
      const auto read = static_cast<std::size_t>(input);
      const double reads = times[s] * reads_of(filter.access);
      // The same pixel is computed once, whoever reads it.
      times[read] = filter.access == Access::pointwise ? std::max(times[read], reads) : times[read] + reads;
      gathered[read] = gathered[read] || gathered[s] || filter.access == Access::gather;
    }
  }
  return work;
}

}  // namespace millrace::image
