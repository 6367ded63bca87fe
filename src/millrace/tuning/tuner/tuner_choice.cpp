// Chooses the candidate to race next, and when.
#include "millrace/tuning/estimate/expected_improvement.h"
#include "millrace/tuning/tuner/tuner.h"

#include <algorithm>
#include <limits>

namespace millrace::tuning {
namespace {

constexpr std::size_t frames_before_a_race = 3;
constexpr std::size_t baseline_frames = 8;

constexpr double least_improvement = 0.001;  // expected log cost: below this the search is exhausted
constexpr double patience = 0.1;             // seconds until the next look if no trial was worthwhile
constexpr double longest_horizon = 20;       // seconds
constexpr double patience_with_builds = 3;   // times the expected seconds of the builds

// The loss of a trial in frame times: switching there and back, and challenger frames until a bad candidate
// is dropped.
constexpr double switching_frames = 0.5;
constexpr double frames_of_a_bad_trial = 2;

// Log ratio. During the opening, searching for larger gains is better than separating two nearly equal
// candidates.
constexpr double opening_margin = 0.03;

// Share of a new stream's allowed loss that verifying a profile may use. A trial needs at least two frames:
// one warms up, one counts.
constexpr double profile_share = 0.3;
constexpr std::int64_t least_trial_frames = 2;

constexpr int rivals = 4;
// Frames between two checks of unpromising candidates. A check loses about one frame.
constexpr double first_verify_frames = 100;
constexpr double longest_verify_frames = 1000;
constexpr double verify_interval_growth = 1.5;

}  // namespace

void Tuner::consider() {
  if (recent_.size() < frames_before_a_race) return;
  if (frames_left_ && !funded_) {
    incumbent_seconds_ = recent_.median_seconds();
    funded_ = true;
    open_trials(from_profile_ ? profile_share : 1);
  }
  // By now it is known whether the stream waits for something else.
  if (recent_.size() >= baseline_frames) want_build_for_later();
  // A stream that runs from a profile may have no frames left for other candidates. No choice could then be
  // tried.
  if (frames_for_verification() < least_trial_frames) return;
  declined_ = {};
  if (choice_.candidate >= 0 && !pays(choice_)) {
    choice_ = {};
    tell_declined();
  }
  if (choice_.candidate < 0) {
    if (now_ < consider_at_) return;
    incumbent_seconds_ = recent_.median_seconds();
    choice_ = choose();
    consider_at_ = now_ + patience;
    if (choice_.candidate < 0) {
      if (!awaits_build()) tell_declined();
      return;
    }
  }
  if (budget_.credit() >= choice_.expected_loss) begin_race();
}

void Tuner::begin_race() {
  RecentCosts::Values storage;
  incumbent_seconds_ = recent_.median_seconds();
  trial_ = {.kind = EventKind::trial,
            .candidate = choice_.candidate,
            .against = incumbent_,
            .chosen = choice_.reason};
  const double margin = budget_.opening(now_) ? opening_margin : Race::least_margin;
  race_.emplace(options_.objective, margin, noise_.sigma(), recent_.last(baseline_frames, storage));
  race_excess_ = 0;
  race_charged_ = 0;
  spent_before_ = budget_.spent();
  expected_before_ = choice_.expected_loss - (frames_left_ ? overrun_ : 0);
}

Tuner::Choice Tuner::chosen(int candidate, Reason reason) const {
  const double mean = model_.mean(candidate) - level_;
  const double deviation = model_.deviation(candidate);
  const double excess = expected_excess(mean, deviation);
  // Switching there and back.
  const double loss =
      2 * switching_seconds_ + incumbent_seconds_ * (switching_frames + frames_of_a_bad_trial * excess);
  return {candidate, reason, loss + (frames_left_ ? overrun_ : 0),
          expected_improvement(mean, deviation, Race::least_margin)};
}

Tuner::Choice Tuner::choose() {
  if (awaits_build()) return {};
  if (const Choice next = compiled(); next.candidate >= 0) return next;
  if (const Choice next = queued(); next.candidate >= 0) return next;
  if (awaits_build()) return {};
  const Choice promising = most_promising();
  if (awaits_build()) return {};
  if (promising.candidate >= 0) return promising;
  return now_ >= verify_at_ ? rival() : Choice{};
}

// The candidate that requested the newest build, if it still pays.
Tuner::Choice Tuner::compiled() {
  const int candidate = std::exchange(compiled_, -1);
  if (candidate < 0 || candidate == incumbent_ || !runnable(candidate) || of(candidate).trials > 0) return {};
  const bool suggested = std::ranges::find(options_.first, candidate) != options_.first.end();
  const Choice choice = chosen(candidate, suggested ? Reason::suggested : Reason::improvement);
  if (!pays(choice)) return {};
  if (frames_left_) budget_.reserve(choice.expected_loss);
  return choice;
}

// Candidates that are tried regardless of the model: the remembered best, else the caller's suggestions.
Tuner::Choice Tuner::queued() {
  if (recheck_ >= 0 && wanted_.empty()) {
    const int candidate = recheck_;
    recheck_ = -1;
    if (candidate != incumbent_ && runnable(candidate)) {
      const Choice again = chosen(candidate, Reason::verification);
      if (pays(again)) return again;
    }
  }
  if (options_.remembered) {
    if (!runnable(options_.remembered->incumbent)) want_build(options_.remembered->incumbent);
    if (profile_trials_ == 0) return {};
    int best = -1;
    for (int c = 0; c < space_->size(); ++c) {
      const auto& remembered = of(c).remembered;
      if (!remembered || c == incumbent_ || !runnable(c)) continue;
      if (best < 0 || *remembered < *of(best).remembered) best = c;
    }
    if (best < 0) return {};
    const Choice choice = chosen(best, Reason::remembered);
    if (!pays(choice)) return {};
    --profile_trials_;
    return choice;
  }
  for (const int candidate : options_.first) {
    if (candidate == incumbent_ || of(candidate).trials > 0 || !of(candidate).available) continue;
    if (!of(candidate).ready) {
      want_build(candidate);
      if (awaits_build()) return {};
      continue;
    }
    const Choice choice = chosen(candidate, Reason::suggested);
    if (pays(choice)) return choice;
  }
  return {};
}

// The candidate with the greatest expected improvement per second of expected loss. Nothing if no trial would
// pay off, assuming that the stream lasts about as long again as it has lasted.
Tuner::Choice Tuner::most_promising() {
  const double horizon = std::min(1 + now_ - start_time_, longest_horizon);
  // The model's certainty depends on its assumed similarity of candidates. While there is time to lose, it is
  // believed less.
  const double curiosity = 1 + budget_.abundance();
  Choice best;
  double best_score = 0;
  int best_build = -1;
  double best_build_improvement = least_improvement;
  for (int c = 0; c < space_->size(); ++c) {
    if (c == incumbent_ || !of(c).available) continue;
    const double mean = model_.mean(c) - level_;
    const double deviation = curiosity * model_.deviation(c);
    if (mean > 4 * deviation) continue;
    const double improvement = expected_improvement(mean, deviation, Race::least_margin);
    if (improvement < least_improvement) continue;
    if (!of(c).ready) {
      if (improvement > best_build_improvement) {
        best_build_improvement = improvement;
        best_build = c;
      }
      continue;
    }
    const Choice choice = chosen(c, Reason::improvement);
    const double score = improvement / choice.expected_loss;
    // Ties are broken at random, so that the numbering does not favour one knob.
    const double jitter = 1 + 1e-3 * static_cast<double>(random_() >> 40) / static_cast<double>(1 << 24);
    if (score * jitter <= best_score) continue;
    if (!pays(choice)) continue;
    if (!frames_left_ && bottleneck_share_ * improvement * horizon < choice.expected_loss) continue;
    best_score = score * jitter;
    best = choice;
  }
  if (best_build >= 0) want_build(best_build);
  return best;
}

void Tuner::verify_soon() {
  verify_interval_ = std::clamp(first_verify_frames * incumbent_seconds_, 0.1, 2.0);
  verify_at_ = now_ + verify_interval_;
}

// The situation may have changed unnoticed, and the model may be overconfident. The closest rivals therefore
// alternate with the candidate that is best under optimistic assumptions (a lower confidence bound, as in
// Srinivas et al. 2010).
Tuner::Choice Tuner::rival() {
  const double longest = std::clamp(longest_verify_frames * incumbent_seconds_, 1.0, 20.0);
  verify_interval_ = std::min(verify_interval_ * verify_interval_growth, longest);
  verify_at_ = now_ + verify_interval_;
  ++verify_turn_;
  const double optimism = verify_turn_ % 2 == 0 ? 0 : 2;
  const int rank = verify_turn_ % 2 == 0 ? verify_turn_ / 2 % rivals : 0;
  int found = -1;
  double found_value = -std::numeric_limits<double>::infinity();
  for (int i = 0; i <= rank; ++i) {
    int next = -1;
    double least = std::numeric_limits<double>::infinity();
    for (int c = 0; c < space_->size(); ++c) {
      if (c == incumbent_ || !runnable(c)) continue;
      const double value = model_.mean(c) - optimism * model_.deviation(c);
      if (value <= found_value || value >= least) continue;
      next = c;
      least = value;
    }
    if (next < 0) break;
    found = next;
    found_value = least;
  }
  if (found < 0) return {};
  const Choice choice = chosen(found, Reason::verification);
  return pays(choice) ? choice : Choice{};
}

void Tuner::want_build(int candidate) {
  if (std::ssize(wanted_) >= options_.wanted_builds || !of(candidate).available || of(candidate).ready)
    return;
  if (std::ranges::any_of(wanted_, [&](int wanted) { return same_build(candidate, wanted); })) return;
  if (!pays(chosen(candidate, Reason::suggested))) return;
  if (!awaited_until_) awaited_until_ = now_ + patience_with_builds * build_seconds(candidate);
  wanted_.push_back(candidate);
}

// The first kernels gain most. Anything found before they are ready would soon be replaced.
bool Tuner::awaits_build() const {
  return frames_left_ && !wanted_.empty() && awaited_until_ && now_ < *awaited_until_;
}

}  // namespace millrace::tuning
