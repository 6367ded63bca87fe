#include "millrace/machine/processor/demand.h"

#include <algorithm>
#include <cmath>

namespace millrace::machine {
namespace {

constexpr std::array<std::string_view, shared_units> names{"int", "fp", "simd", "l1", "l2", "llc", "dram"};

}  // namespace

std::string_view name_of(SharedUnit unit) { return names[static_cast<std::size_t>(unit)]; }

std::optional<SharedUnit> shared_unit_of(std::string_view name) {
  const auto* const found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return all_shared_units[static_cast<std::size_t>(found - names.begin())];
}

Status check(const Demand& demand) {
  constexpr double tolerance = 0.01;
  double sum = 0;
  for (const SharedUnit unit : all_shared_units) {
    const double share = demand[unit];
    if (!(share >= 0 && share <= 1))
      return usage_error("the demand for {} is {}; a share is a number from 0 to 1", name_of(unit), share);
    sum += share;
  }
  if (std::abs(sum - 1) > tolerance)
    return usage_error(
        "the demands of a thread come to {:.3g}; they are shares of its time, so give 1 in sum", sum);
  return {};
}

}  // namespace millrace::machine
