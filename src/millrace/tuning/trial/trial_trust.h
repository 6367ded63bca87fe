// Tracks how much of their expected improvement trials have delivered.
#pragma once

#include <algorithm>
#include <cmath>

namespace millrace::tuning {

// An overly uncertain model would try every candidate for a gain that no trial ever shows. Expected
// improvements are therefore scaled by the share that trials have delivered so far. Promises and results
// decay with time, so that a stream of days keeps searching. Units: log cost and seconds.
class TrialTrust {
 public:
  void begin(double time) { time_ = time; }
  // A trial begins because of this expected improvement.
  void promise(double improvement) { promised_ += improvement; }
  // A trial delivered this improvement, with significance.
  void keep(double improvement) { kept_ += improvement; }
  // The situation has changed: discards `share`, in [0, 1], of the history.
  void doubt(double share) { scale(1 - share); }
  // The delivered share, in (0, 1].
  [[nodiscard]] double share(double time) {
    scale(std::exp2((time_ - time) / memory));
    time_ = time;
    return (first + kept_) / (first + std::max(promised_, kept_));
  }

 private:
  static constexpr double first = 0.6;  // initial amount of promises that is trusted
  static constexpr double memory = 60;  // half-life

  void scale(double factor) {
    promised_ *= factor;
    kept_ *= factor;
  }

  double promised_ = 0;
  double kept_ = 0;
  double time_ = 0;
};

}  // namespace millrace::tuning
