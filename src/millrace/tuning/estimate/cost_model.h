// What every candidate is believed to cost, learnt from the few that were measured.
#pragma once

#include "millrace/tuning/space/space.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace millrace::tuning {

// A Gaussian process over the candidates (Rasmussen & Williams 2006, chapter 2) for log cost up to a common
// constant. The covariance of two candidates is a constant, plus a sum over knobs (each knob's own effect,
// which carries far: "two threads help"), plus a product over knobs (what is special to a neighbourhood,
// which is how interacting knobs come in), plus the caller's prior as a linear effect of unknown strength.
// Ordinal values are the more alike the fewer steps lie between them, categorical ones are equal or not, as
// in compiler autotuners (Hellsten et al. 2023). The posterior is updated one observation at a time for all
// candidates at once, O(points x candidates), and read in O(1).
//
// Used by one thread. Allocates in the constructor only.
class CostModel {
 public:
  // prior: a guess of the relative cost of each candidate, more than 0; empty: none.
  CostModel(const Space& space, std::span<const double> prior);

  // Candidate was measured at this log cost, give or take `deviation` (more than 0).
  void observe(int candidate, double log_cost, double deviation);
  // Makes all observations so far less certain by `deviation`, and takes their levels relative to `origin`,
  // at most `ceiling`.
  void widen(double deviation, double origin, double ceiling);
  // Back to the prior.
  void clear();

  // Posterior mean and standard deviation of the candidate's log cost.
  [[nodiscard]] double mean(int candidate) const { return mean_[static_cast<std::size_t>(candidate)]; }
  [[nodiscard]] double deviation(int candidate) const;
  // Observations in use: at most max_points, older and worse ones make room.
  static constexpr int max_points = 160;
  [[nodiscard]] int points() const { return static_cast<int>(points_.size()); }

 private:
  struct Point {
    int candidate;
    float log_cost;
    float variance;
  };

  void condition_on(std::size_t index);  // those before it are in already
  void rebuild();
  void thin_out();
  void covariance_row(int candidate, std::span<float> row) const;

  const Space* space_;
  std::size_t size_;
  std::vector<float> prior_;  // centred log prior; empty: none
  // For each knob, value by value: how alike two values are, in [0, 1].
  std::vector<std::vector<float>> additive_;
  std::vector<std::vector<float>> product_;
  std::vector<Point> points_;
  // For each point: posterior covariance with all candidates, over its deviation. Room for the most points,
  // which most streams never touch.
  std::unique_ptr<float[]> rows_;
  std::vector<float> mean_;
  std::vector<float> variance_;
};

}  // namespace millrace::tuning
