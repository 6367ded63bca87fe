#include "millrace/placement/trials/plan_trials.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace millrace::placement {
namespace {

constexpr int turns = 4;  // untouched, candidate, candidate, untouched
constexpr int most_blind_windows = 8;
constexpr int pairs_of_a_check = 3;
constexpr int most_pairs_of_a_check = 16;
constexpr double idle_window = 0.25;  // seconds; between trials, so that a change of plan is never far

bool is_candidates_turn(int turn) { return turn == 1 || turn == 2; }

double percent(double log_ratio) { return 100 * (std::exp(log_ratio) - 1); }

std::string_view name_of(TrialEvent::Kind kind) {
  switch (kind) {
  case TrialEvent::Kind::started:
    return "started with";
  case TrialEvent::Kind::taken:
    return "took";
  case TrialEvent::Kind::dropped:
    return "dropped";
  case TrialEvent::Kind::kept:
    return "kept";
  case TrialEvent::Kind::taken_back:
    break;
  }
  return "took back";
}

}  // namespace

std::string to_string(const TrialEvent& event) {
  std::string text = fmt::format("at {:.1f} s {} {}", event.time, name_of(event.kind), to_string(event.plan));
  if (event.gain.pairs > 1)
    text += fmt::format(": {:+.1f} % ({:+.1f} to {:+.1f}, {} pairs)", percent(event.gain.mean),
                        percent(event.gain.low), percent(event.gain.high), event.gain.pairs);
  else if (event.gain.pairs == 1)
    text += fmt::format(": {:+.1f} % (1 pair)", percent(event.gain.mean));
  if (!event.reason.empty()) text += ", " + event.reason;
  return text;
}

PlanTrials::PlanTrials(std::vector<Plan> candidates, const TrialOptions& options,
                       std::optional<Plan> remembered)
    : candidates_(std::move(candidates)), evidence_(candidates_.size()), options_(options),
      check_interval_(options.first_check), retry_interval_(options.first_retry) {
  if (remembered) {
    current_ = *remembered;
    check_at_ = options_.first_check;
    retry_at_ = options_.first_retry;
    events_.push_back({.kind = TrialEvent::Kind::started, .plan = current_, .reason = "learnt earlier"});
    next_ = candidates_.size();
  } else {
    begin_next();
  }
}

const Plan& PlanTrials::tried_plan() const {
  return trial_->check ? current_ : candidates_[trial_->candidate];
}

PlanTrials::Window PlanTrials::ask() const {
  if (!trial_) return {current_, idle_window, 0};
  return {is_candidates_turn(trial_->turn) ? tried_plan() : Plan(), options_.window, options_.settle};
}

void PlanTrials::begin_next() {
  if (next_ < candidates_.size()) {
    trial_ = Trial{.candidate = next_++};
    return;
  }
  concluded_ = concluded_ || std::ranges::any_of(events_, [](const TrialEvent& event) {
                 return event.kind == TrialEvent::Kind::dropped && event.gain.pairs > 1;
               });
  retry_at_ = time_ + retry_interval_;
  retry_interval_ *= 2;
}

void PlanTrials::schedule_check() {
  check_at_ = time_ + check_interval_;
  check_interval_ = std::min(2 * check_interval_, options_.last_check);
}

void PlanTrials::skip() {
  const bool check = trial_ && trial_->check;
  trial_.reset();
  if (check)
    schedule_check();
  else
    begin_next();
}

void PlanTrials::tell(std::optional<double> rate) {
  time_ += trial_ ? options_.window : idle_window;
  if (!trial_) {
    if (!current_.untouched() && time_ >= check_at_) trial_ = Trial{.check = true};
    if (current_.untouched() && time_ >= retry_at_ && !candidates_.empty()) {
      next_ = 0;
      begin_next();
    }
    return;
  }
  if (!rate || !(*rate > 0)) {
    // A window that tells nothing; also its partners are too old by now.
    trial_->turn = 0;
    trial_->untouched = trial_->tried = 0;
    if (++trial_->blind >= most_blind_windows)
      end_trial(TrialEvent::Kind::dropped, {}, "the program showed no progress to judge by");
    return;
  }
  (is_candidates_turn(trial_->turn) ? trial_->tried : trial_->untouched) += *rate;
  if (++trial_->turn < turns) return;
  trial_->turn = 0;
  trial_->log_ratios.push_back(std::log(trial_->tried / trial_->untouched));
  trial_->untouched = trial_->tried = 0;
  decide();
}

void PlanTrials::decide() {
  const auto& ratios = trial_->log_ratios;
  const GainEstimate narrow = estimate_gain(ratios, Confidence::p90);
  const GainEstimate wide = estimate_gain(ratios, Confidence::p99);
  if (trial_->check) return decide_check(narrow);
  GainEvidence& evidence = evidence_[trial_->candidate];
  evidence.add(ratios.back());
  if (evidence.value() >= static_cast<double>(candidates_.size()) / options_.false_gains &&
      wide.mean >= options_.least_gain) {
    evidence = {};  // after a gain that is gone it has to be shown anew
    current_ = candidates_[trial_->candidate];
    gain_ = wide;
    check_interval_ = options_.first_check;
    return end_trial(TrialEvent::Kind::taken, wide, "");
  }
  if (ratios.size() == 1 && ratios.front() < -options_.clear_loss)
    return end_trial(TrialEvent::Kind::dropped, wide, "clearly slower");
  if (wide.pairs >= 2 && narrow.high < options_.least_gain)
    return end_trial(TrialEvent::Kind::dropped, narrow, "no gain");
  if (wide.pairs >= options_.most_pairs)
    return end_trial(TrialEvent::Kind::dropped, wide, "no gain beyond the noise");
}

void PlanTrials::decide_check(const GainEstimate& narrow) {
  if (narrow.pairs < pairs_of_a_check) return;
  if (narrow.low > 0) {
    gain_ = narrow;
    return end_trial(TrialEvent::Kind::kept, narrow, "");
  }
  // Not clearly better: it goes when it is more likely of no use than not, after as long a look as a trial.
  if (narrow.high < options_.least_gain || narrow.pairs >= most_pairs_of_a_check) {
    if (narrow.mean >= options_.least_gain)
      return end_trial(TrialEvent::Kind::kept, narrow, "as far as noise shows");
    const Plan gone = std::exchange(current_, Plan());
    gain_.reset();
    concluded_ = true;
    events_.push_back({TrialEvent::Kind::taken_back, time_, gone, narrow, "its gain is gone"});
    trial_.reset();
    // The others have their turn at once, this one when all are tried again.
    next_ = 0;
    while (next_ < candidates_.size() && candidates_[next_] == gone)
      ++next_;
    begin_next();
  }
}

void PlanTrials::end_trial(TrialEvent::Kind kind, const GainEstimate& gain, std::string reason) {
  events_.push_back({kind, time_, tried_plan(), gain, std::move(reason)});
  const bool check = trial_->check;
  trial_.reset();
  if (kind == TrialEvent::Kind::taken) concluded_ = true;
  if (kind == TrialEvent::Kind::taken || check) {
    schedule_check();
    return;
  }
  if (current_.untouched())
    begin_next();
  else
    schedule_check();
}

}  // namespace millrace::placement
