// What the tuner makes of a profile: where it begins, and whether it holds.
#include "millrace/tuning/estimate/prior_belief.h"
#include "millrace/tuning/tuner/tuner.h"

#include <algorithm>
#include <cmath>

namespace millrace::tuning {
namespace {

constexpr int profile_verifications = 3;
constexpr double profile_deviation = 0.08;
constexpr double profile_surprise = 0.15;

// Like this one, that will begin with what is compiled beside it.
constexpr double streams_to_come = 2;

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
  const double expected = knows_build_of(best) ? model_.mean(best) - level_ : expected_by_prior(best);
  return expected < -clearly_better ? best : -1;
}

// Whether what was remembered tells something of what needs the same build.
bool Tuner::knows_build_of(int candidate) const {
  const bool needs_build =
      !options_.build.empty() && options_.build[static_cast<std::size_t>(candidate)] >= 0;
  if (!needs_build || options_.prior.empty() || same_build(candidate, incumbent_)) return true;
  for (int c = 0; c < space_->size(); ++c)
    if (of(c).remembered && same_build(candidate, c)) return true;
  return false;
}

// Log cost relative to the incumbent's.
double Tuner::expected_by_prior(int candidate) const {
  const auto prior = [&](int c) { return options_.prior[static_cast<std::size_t>(c)]; };
  return believed_log_ratio(prior(candidate), prior(incumbent_));
}

// What was suggested in front of all and never came to be compiled, as no stream alone was long enough to pay
// for it, is compiled beside one that runs by a profile: its like has come before and will come again, and
// begins with what is suggested, as above. Not where it would not be there before the end.
void Tuner::want_build_for_later() {
  if (!from_profile_ || !frames_left_ || options_.first.empty()) return;
  if (!wanted_.empty() || options_.wanted_builds < 1) return;
  const int best = options_.first.front();
  if (of(best).ready || !of(best).available || knows_build_of(best)) return;
  const double left = static_cast<double>(*frames_left_) * incumbent_seconds_;
  const double compiling = build_seconds(best);
  const double saved = -std::expm1(expected_by_prior(best));  // of a frame's time
  const double gain = saved * bound_share_ * streams_to_come * left;
  if (compiling < left && gain > compiling * options_.build_slowdown) wanted_.push_back(best);
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
