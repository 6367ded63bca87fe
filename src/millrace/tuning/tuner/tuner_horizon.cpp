// How the tuner behaves if it knows how many frames are left.
#include "millrace/tuning/tuner/tuner.h"

#include <algorithm>
#include <limits>

namespace millrace::tuning {
namespace {

// Share of the frames that other candidates may get while the stream runs from its profile.
constexpr double verification_share = 0.01;

// Frames on both sides until the better one may take over: two pairs of blocks (race.h).
constexpr double frames_of_a_race = 13;

// Loss to switching and cold caches, in frames, before any measurement of it.
constexpr double overrun_frames = 4;
constexpr double overrun_renewal = 0.3;
constexpr double most_overrun_frames = 50;  // excludes a trial during which the machine stalled

// Minimum share of saved time that the stream must gain if its remaining length is unknown.
constexpr double least_bound_share = 0.1;

}  // namespace

void Tuner::frames_left(std::optional<std::int64_t> frames) {
  frames_left_ = frames;
  if (!frames) budget_.allow_all();
}

// Adjusts the allowed loss of trials to the new number of frames.
void Tuner::expect_more(std::int64_t frames) {
  if (!funded_) return;
  budget_.allow(static_cast<double>(frames) * incumbent_seconds_, opened_scale_);
  verification_frames_ += std::min(1.0, opened_scale_) * verification_share * static_cast<double>(frames);
}

void Tuner::bottleneck_share(double share) { bottleneck_share_ = std::clamp(share, 0.0, 1.0); }

// Allows trials to lose another share of the rest of the stream.
void Tuner::open_trials(double scale) {
  if (!frames_left_ || !funded_) return;
  opened_scale_ += scale;
  const auto left = static_cast<double>(*frames_left_);
  budget_.allow(left * incumbent_seconds_, scale);
  verification_frames_ += std::min(1.0, scale) * verification_share * left;
  if (overrun_ == 0) overrun_ = overrun_frames * incumbent_seconds_;
  decline_told_ = false;
}

double Tuner::build_seconds(int candidate) const {
  if (of(candidate).ready || options_.build_seconds.empty()) return 0;
  return options_
      .build_seconds[static_cast<std::size_t>(options_.build[static_cast<std::size_t>(candidate)])];
}

TrialValue Tuner::value_of(const Choice& choice) const {
  const double compiling = build_seconds(choice.candidate);
  return {.improvement = choice.improvement,
          .frame_seconds = incumbent_seconds_,
          .frames_left = static_cast<double>(frames_left_.value_or(std::numeric_limits<std::int64_t>::max())),
          .frames_until =
              frames_of_a_race + (compiling > 0 ? compiling / std::max(incumbent_seconds_, 1e-9) : 0),
          .bottleneck_share = bottleneck_share_,
          .loss = choice.expected_loss + compiling * options_.build_slowdown};
}

// If the remaining length is unknown, other rules decide, except for candidates that cannot gain anything.
bool Tuner::pays(const Choice& choice) {
  const TrialValue value = value_of(choice);
  if (frames_left_ ? value.pays() : bottleneck_share_ >= least_bound_share) return true;
  const auto worth = [](const TrialValue& of) { return of.gain() / of.loss; };
  if (declined_.candidate < 0 || worth(value) > worth(value_of(declined_))) declined_ = choice;
  return false;
}

// Reports the best candidate that does not pay, once per opening. The others would repeat the same message.
void Tuner::tell_declined() {
  if (declined_.candidate < 0 || decline_told_) return;
  decline_told_ = true;
  const TrialValue value = value_of(declined_);
  record_.add({.kind = EventKind::declined,
               .time = now_,
               .candidate = declined_.candidate,
               .against = incumbent_,
               .frames = frames_left_.value_or(-1),
               .gain = frames_left_ ? value.gain() : 0,
               .loss = value.loss,
               .bottleneck_share = bottleneck_share_,
               .chosen = declined_.reason});
}

std::int64_t Tuner::frames_for_verification() const {
  if (!frames_left_ || !from_profile_) return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(verification_frames_);
}

// Ends a long race when it has used up the total allowance of all trials or the frames for verifying a
// profile. A challenger that is about to win continues, because it loses nothing.
bool Tuner::out_of_means(bool challenger) const {
  if (!frames_left_) return false;
  const bool used_up = (challenger && frames_for_verification() < 1) || budget_.exhausted();
  return used_up && race_->log_ratio() + race_->error() > 0;
}

// Called after the incumbent's first frame following a trial, or at once if the challenger stays.
void Tuner::learn_trial_loss() {
  if (expected_before_ < 0) return;
  const double beyond = budget_.spent() - spent_before_ - expected_before_;
  expected_before_ = -1;
  if (overrun_ == 0) return;
  overrun_ += overrun_renewal * (beyond - overrun_);
  overrun_ = std::clamp(overrun_, 1e-9, most_overrun_frames * incumbent_seconds_);
}

}  // namespace millrace::tuning
