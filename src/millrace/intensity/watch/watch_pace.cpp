#include "millrace/intensity/watch/watch_pace.h"

#include <algorithm>

namespace millrace::intensity {

int samples_for_each_second(int cpus) {
  constexpr int usual = 97;
  constexpr int fewest = 11;
  // Each takes five microseconds.
  constexpr int most_of_all_cpus = 1000;
  return std::clamp(most_of_all_cpus / std::max(cpus, 1), fewest, usual);
}

double share_of_time(double switches) {
  constexpr double harmless = 2000;
  return switches <= harmless ? 1 : harmless / switches;
}

}  // namespace millrace::intensity
