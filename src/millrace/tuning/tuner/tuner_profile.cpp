// What the tuner makes of a profile: where it begins, and whether it holds.
#include "millrace/tuning/tuner/tuner.h"

#include <algorithm>
#include <cmath>

namespace millrace::tuning {
namespace {

constexpr int profile_verifications = 3;
constexpr double profile_deviation = 0.08;
constexpr double profile_surprise = 0.15;
constexpr double clearly_better = 0.05;  // log ratio, of what a profile does not know

}  // namespace

void Tuner::learn_remembered() {
  if (!options_.remembered) return;
  const Remembered& remembered = *options_.remembered;
  double base = 0;  // the first incumbent may be another than the remembered one, which is not compiled yet
  for (const RememberedCost& cost : remembered.costs) {
    if (cost.candidate == incumbent_) base = std::log(cost.ratio);
  }
  const auto learn = [&](int candidate, double ratio) {
    const double level = std::min(std::log(ratio) - base, worst_level);
    if (candidate == incumbent_ || of(candidate).remembered) return;
    of(candidate).remembered = level;
    model_.observe(candidate, level, profile_deviation);
  };
  learn(remembered.incumbent, 1);
  for (const RememberedCost& cost : remembered.costs)
    learn(cost.candidate, cost.ratio);
  profile_trials_ = profile_verifications;
}

// What the caller suggests most, where the profile's run could not try it, since it was not compiled yet, and
// where it is believed to be clearly better than what that run found without it.
int Tuner::better_than_remembered() const {
  if (options_.first.empty()) return -1;
  const int best = options_.first.front();
  if (best == incumbent_ || !runnable(best) || of(best).remembered) return -1;
  return model_.mean(best) - level_ < -clearly_better ? best : -1;
}

// A profile that misjudges two of the few that are verified, or whose incumbent is beaten clearly, is another
// situation's.
void Tuner::check_profile(int candidate, double log_ratio, double error) {
  auto& remembered = of(candidate).remembered;
  if (!remembered) return;
  const double expected = *remembered - level_;
  const double off = std::abs(std::min(log_ratio, worst_level) - std::min(expected, worst_level));
  remembered.reset();
  if (off > profile_surprise + 2 * error) ++profile_surprises_;
  const bool beaten = log_ratio < -profile_surprise && expected > 0;
  if (profile_surprises_ < 2 && !beaten) return;

  model_.clear();
  model_.observe(incumbent_, level_, least_deviation);
  for (int c = 0; c < space_->size(); ++c) {
    of(c).remembered.reset();
    if (of(c).trials > 0 && c != incumbent_) model_.observe(c, of(c).level, of(c).deviation);
  }
  options_.remembered.reset();
  profile_trials_ = 0;
  from_profile_ = false;
  budget_.open(now_, 1);
  open_trials(1);
  record_.add({.kind = EventKind::profile_forgotten, .time = now_, .candidate = incumbent_});
}

}  // namespace millrace::tuning
