// What the tuner makes of a profile: where it begins, and whether it holds.
#include "millrace/tuning/tuner/tuner.h"

#include <algorithm>
#include <cmath>

namespace millrace::tuning {
namespace {

constexpr int profile_verifications = 3;
constexpr double profile_deviation = 0.08;
constexpr double profile_surprise = 0.15;
constexpr double prior_belief = 0.5;     // of the caller's differences in log cost, as in the cost model
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
// where it is believed to be clearly better than what that run found without it. Where the profile knows
// nothing that needs the same build, only the caller can say so: the few costs of a short run, taken while
// the machine was busy, have told the model little but noise.
int Tuner::better_than_remembered() const {
  if (options_.first.empty()) return -1;
  const int best = options_.first.front();
  if (best == incumbent_ || !runnable(best) || of(best).remembered) return -1;
  const bool needs_build = !options_.build.empty() && options_.build[static_cast<std::size_t>(best)] >= 0;
  bool build_known = !needs_build || options_.prior.empty() || same_build(best, incumbent_);
  for (int c = 0; c < space_->size() && !build_known; ++c)
    build_known = of(c).remembered && same_build(best, c);
  const auto prior = [&](int c) { return options_.prior[static_cast<std::size_t>(c)]; };
  const double expected =
      build_known ? model_.mean(best) - level_ : prior_belief * std::log(prior(best) / prior(incumbent_));
  return expected < -clearly_better ? best : -1;
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
