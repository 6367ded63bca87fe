// Paired rounds: repeatedly measures contenders one after another in random order and compares them within a
// round, so that other load on the machine affects all of them.
#pragma once

#include "millrace/base/error/clock.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace millrace::stream {

inline double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return seconds(nanoseconds(time));
}

// Returns when the process has used less than 0.1 ms of CPU time in 5 ms.
inline void wait_until_quiescent() {
  for (;;) {
    const double before = cpu_seconds();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (cpu_seconds() - before < 1e-4) return;
  }
}

// Nearest rank.
inline double quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}
// "median [quartile .. quartile]"
inline std::string spread(const std::vector<double>& values, int digits) {
  return fmt::format("{:.{}f} [{:.{}f} .. {:.{}f}]", quantile(values, 0.5), digits, quantile(values, 0.25),
                     digits, quantile(values, 0.75), digits);
}

// In nanoseconds.
inline double timed(const std::function<void()>& batch) {
  wait_until_quiescent();
  const std::int64_t start = now_ns();
  batch();
  return static_cast<double>(now_ns() - start);
}

// One way to do the work. If several have the same `framework`, it is represented by the one with the best
// median, named by its `setting`.
struct Contender {
  std::string framework;
  std::string setting;
  std::function<void()> batch;
};

struct Measured {
  const Contender* contender = nullptr;
  std::vector<double> values;  // by round
};

// The best contender of each framework, in the order of their first contenders. Each value is divided by
// `per`. Keeps pointers to `contenders`.
inline std::vector<Measured> paired_rounds(const std::vector<Contender>& contenders, int rounds, double per,
                                           std::mt19937& random) {
  std::vector<Measured> all;
  std::vector<std::size_t> order;
  for (const Contender& contender : contenders) {
    order.push_back(all.size());
    all.push_back({&contender, {}});
  }
  for (int round = 0; round <= rounds; ++round) {
    std::ranges::shuffle(order, random);
    for (const std::size_t i : order) {
      const double time = timed(contenders[i].batch) / per;
      if (round != 0) all[i].values.push_back(time);  // the first warms up
    }
  }
  std::vector<Measured> best;
  for (Measured& one : all) {
    const auto same = std::ranges::find_if(
        best, [&](const Measured& other) { return other.contender->framework == one.contender->framework; });
    if (same == best.end())
      best.push_back(std::move(one));
    else if (quantile(one.values, 0.5) < quantile(same->values, 0.5))
      *same = std::move(one);
  }
  return best;
}

// Round by round.
inline std::vector<double> ratios(const std::vector<double>& ours, const std::vector<double>& theirs) {
  std::vector<double> result;
  for (std::size_t i = 0; i < ours.size(); ++i)
    result.push_back(ours[i] / theirs[i]);
  return result;
}

}  // namespace millrace::stream
