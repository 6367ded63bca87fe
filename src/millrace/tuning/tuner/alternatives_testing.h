// The obvious alternatives to the tuner, for comparison: epsilon-greedy, UCB1 and explore-once.
#pragma once

#include "millrace/tuning/space/objective.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace millrace::tuning::testing {

// All choose a candidate for each frame by the mean of its log cost. They receive the same prior as the
// tuner, as the order of first trials.
class Alternative {
 public:
  explicit Alternative(const std::vector<double>& prior)
      : order_(prior.size()), sum_(prior.size()), count_(prior.size()) {
    std::iota(order_.begin(), order_.end(), 0);
    std::ranges::sort(order_, {}, [&](int c) { return prior[static_cast<std::size_t>(c)]; });
  }
  virtual ~Alternative() = default;
  Alternative(const Alternative&) = delete;
  Alternative& operator=(const Alternative&) = delete;

  [[nodiscard]] virtual int ask() = 0;
  // The candidate that it considers best and would keep if it stopped exploring.
  [[nodiscard]] int incumbent() const { return best_; }
  void tell(int candidate, double seconds) {
    const auto c = static_cast<std::size_t>(candidate);
    sum_[c] += std::log(seconds);
    ++count_[c];
    ++total_;
    if (candidate != best_ && count_[static_cast<std::size_t>(best_)] > 0 && mean(candidate) < mean(best_)) {
      best_ = candidate;
    } else if (candidate == best_) {
      for (const int other : order_) {
        if (count_[static_cast<std::size_t>(other)] > 0 && mean(other) < mean(best_)) best_ = other;
      }
    }
  }

 protected:
  [[nodiscard]] double mean(int candidate) const {
    const auto c = static_cast<std::size_t>(candidate);
    return sum_[c] / static_cast<double>(count_[c]);
  }

  std::vector<int> order_;
  std::vector<double> sum_;
  std::vector<std::int64_t> count_;
  std::int64_t total_ = 0;
  int best_ = order_.front();
};

// Usually the best candidate so far, sometimes a random one (Sutton & Barto).
class EpsilonGreedy : public Alternative {
 public:
  EpsilonGreedy(const std::vector<double>& prior, double epsilon, std::uint64_t seed)
      : Alternative(prior), epsilon_(epsilon), random_(seed) {}

  int ask() override {
    if (uniform_(random_) >= epsilon_) return best_;
    return order_[random_() % order_.size()];
  }

 private:
  double epsilon_;
  std::mt19937_64 random_;
  std::uniform_real_distribution<double> uniform_;
};

// Optimism based on the number of tries (Auer, Cesa-Bianchi & Fischer 2002), with costs scaled by the spread
// of log cost.
class Ucb1 : public Alternative {
 public:
  using Alternative::Alternative;

  int ask() override {
    if (total_ < std::ssize(order_)) return order_[static_cast<std::size_t>(total_)];
    constexpr double range = 0.5;
    int chosen = best_;
    double least = std::numeric_limits<double>::infinity();
    for (const int c : order_) {
      const auto n = static_cast<double>(count_[static_cast<std::size_t>(c)]);
      const double bound = mean(c) - range * std::sqrt(2 * std::log(static_cast<double>(total_)) / n);
      if (bound < least) {
        least = bound;
        chosen = c;
      }
    }
    return chosen;
  }
};

// Runs every candidate for a few frames at the start, then the best one forever.
class ExploreOnce : public Alternative {
 public:
  ExploreOnce(const std::vector<double>& prior, int frames_each)
      : Alternative(prior), frames_each_(frames_each) {}

  int ask() override {
    const std::int64_t exploring = std::ssize(order_) * frames_each_;
    if (total_ < exploring) return order_[static_cast<std::size_t>(total_ / frames_each_)];
    if (chosen_ < 0) chosen_ = best_;
    return chosen_;
  }

 private:
  int frames_each_;
  int chosen_ = -1;
};

}  // namespace millrace::tuning::testing
