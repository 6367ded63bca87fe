// How much of what trials promise they keep.
#pragma once

#include <algorithm>
#include <cmath>

namespace millrace::tuning {

// A model that is too unsure of itself would try all there is, each for a gain that no trial ever shows. So
// of an expected improvement that share is believed which trials have kept so far. Both what they promised
// and what they kept are forgotten in time, so that a stream of days goes on looking. In log cost and
// seconds.
class TrialTrust {
 public:
  void begin(double time) { time_ = time; }
  // A trial begins for the sake of this improvement.
  void promise(double improvement) { promised_ += improvement; }
  // One was made, beyond doubt.
  void keep(double improvement) { kept_ += improvement; }
  // Things have changed: `share`, in [0, 1], of what was seen says nothing any more.
  void doubt(double share) { scale(1 - share); }
  // In (0, 1].
  [[nodiscard]] double share(double time) {
    scale(std::exp2((time_ - time) / memory));
    time_ = time;
    return (first + kept_) / (first + std::max(promised_, kept_));
  }

 private:
  static constexpr double first = 0.6;  // that is promised before trials are asked what they keep
  static constexpr double memory = 60;  // after which half is forgotten

  void scale(double factor) {
    promised_ *= factor;
    kept_ *= factor;
  }

  double promised_ = 0;
  double kept_ = 0;
  double time_ = 0;
};

}  // namespace millrace::tuning
