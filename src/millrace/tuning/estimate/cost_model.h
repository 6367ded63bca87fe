// Predicts the cost of every candidate from the few that were measured.
#pragma once

#include "millrace/tuning/space/space.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace millrace::tuning {

// A Gaussian process over the candidates (Rasmussen & Williams 2006, chapter 2) for log cost up to a common
// constant. The covariance of two candidates is the sum of four parts:
//
//   - a constant
//   - a sum over knobs: the effect of each knob alone, which generalises widely ("two threads help")
//   - a product over knobs: the effect of a neighbourhood, which models interactions
//   - the caller's prior as a linear effect of unknown strength
//
// Ordinal values are more alike the fewer steps apart they are. Categorical values are equal or not, as in
// compiler autotuners (Hellsten et al. 2023). Each observation updates the posterior of all candidates, in
// O(points x candidates). Reading it takes O(1).
//
// For one thread. Allocates only in the constructor.
class CostModel {
 public:
  // prior: a guess of each candidate's relative cost, above 0; empty: no prior.
  CostModel(const Space& space, std::span<const double> prior);

  // Records a measured log cost with standard deviation `deviation` > 0.
  void observe(int candidate, double log_cost, double deviation);
  // Increases the uncertainty of all observations by `deviation`. Makes their levels relative to `origin`,
  // with a maximum of `ceiling`.
  void widen(double deviation, double origin, double ceiling);
  // Resets the model to the prior.
  void clear();

  // Posterior mean and standard deviation of the candidate's log cost.
  [[nodiscard]] double mean(int candidate) const { return mean_[static_cast<std::size_t>(candidate)]; }
  [[nodiscard]] double deviation(int candidate) const;
  // Number of observations in use, at most max_points. Older and worse ones are dropped first.
  static constexpr int max_points = 160;
  [[nodiscard]] int points() const { return static_cast<int>(points_.size()); }

 private:
  struct Point {
    int candidate;
    float log_cost;
    float variance;
  };

  void condition_on(std::size_t index);  // points before it are already included
  void rebuild();
  void thin_out();
  void covariance_row(int candidate, std::span<float> row) const;

  const Space* space_;
  std::size_t size_;
  std::vector<float> prior_;  // centred log prior; empty: no prior
  // Per knob and pair of values: their similarity in [0, 1].
  std::vector<std::vector<float>> additive_;
  std::vector<std::vector<float>> product_;
  std::vector<Point> points_;
  // For each point: its posterior covariance with all candidates, divided by its deviation. Allocated for
  // max_points, which most streams never reach.
  std::unique_ptr<float[]> rows_;
  std::vector<float> mean_;
  std::vector<float> variance_;
};

}  // namespace millrace::tuning
