// How the tuner uses a profile: where it starts, and whether the profile is still valid.
#include "millrace/tuning/estimate/prior_belief.h"
#include "millrace/tuning/tuner/tuner.h"

#include <algorithm>
#include <cmath>

namespace millrace::tuning {
namespace {

constexpr int profile_verifications = 3;
constexpr double profile_deviation = 0.08;
constexpr double profile_surprise = 0.15;

// Number of similar future streams that will start with the result of this compilation.
constexpr double streams_to_come = 2;

}  // namespace

void Tuner::learn_remembered() {
  if (!options_.remembered) return;
  const Remembered& remembered = *options_.remembered;
  double base = 0;  // the first incumbent may differ from the remembered one, which may not be compiled yet
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

// The caller's first suggestion, if the profile's run could not try it because it was not compiled, and if it
// is believed to be clearly better than the best found without it. If the profile has no cost for the same
// build, only the caller's prior can tell. The few costs of a short run on a busy machine gave the model
// little but noise.
int Tuner::better_than_remembered() const {
  if (options_.first.empty()) return -1;
  const int best = options_.first.front();
  if (best == incumbent_ || !runnable(best) || of(best).remembered) return -1;
  const double expected = knows_build_of(best) ? model_.mean(best) - level_ : expected_by_prior(best);
  return expected < -clearly_better ? best : -1;
}

// Whether the remembered costs include a candidate of the same build.
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

// Compiles the first suggestion during a stream that runs from a profile, if no single stream was long enough
// to pay for the compilation. Similar streams are likely to follow and can then start with it, as above. Does
// nothing if the compilation would not finish before the end.
void Tuner::want_build_for_later() {
  if (!from_profile_ || !frames_left_ || options_.first.empty()) return;
  if (!wanted_.empty() || options_.wanted_builds < 1) return;
  const int best = options_.first.front();
  if (of(best).ready || !of(best).available || knows_build_of(best)) return;
  const double left = static_cast<double>(*frames_left_) * incumbent_seconds_;
  const double compiling = build_seconds(best);
  const double saved = -std::expm1(expected_by_prior(best));  // share of a frame's time
  const double gain = saved * bottleneck_share_ * streams_to_come * left;
  if (compiling < left && gain > compiling * options_.build_slowdown) wanted_.push_back(best);
}

// The profile belongs to another situation if it misjudges two of the few verified candidates, or if its
// incumbent is clearly beaten.
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
