#include "millrace/placement/trials/plan_trials.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace millrace::placement {
namespace {

constexpr int most_blind_windows = 8;
constexpr int pairs_of_a_check = 6;
constexpr int most_pairs_of_a_check = 32;
constexpr double idle_window = 0.25;  // seconds; short, so that a change of plan can come soon

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
  // With two pairs the interval is too wide to report.
  if (event.gain.pairs > 2)
    text += fmt::format(": {:+.1f} % ({:+.1f} to {:+.1f}, {} pairs)", percent(event.gain.mean),
                        percent(event.gain.low), percent(event.gain.high), event.gain.pairs);
  else if (event.gain.pairs > 0)
    text += fmt::format(": {:+.1f} % ({} pair{})", percent(event.gain.mean), event.gain.pairs,
                        event.gain.pairs > 1 ? "s" : "");
  if (!event.reason.empty()) text += ", " + event.reason;
  return text;
}

PlanTrials::PlanTrials(const std::vector<Plan>& candidates, const TrialOptions& options,
                       std::optional<Plan> remembered)
    : race_(candidates, options.race), options_(options), coin_(options.seed),
      check_interval_(options.first_check), retry_interval_(options.first_retry) {
  if (remembered) {
    current_ = *remembered;
    check_at_ = options_.first_check;
    retry_at_ = options_.first_retry;
    events_.push_back({.kind = TrialEvent::Kind::started, .plan = current_, .reason = "learnt earlier"});
  } else {
    begin_next();
  }
}

const Plan& PlanTrials::tried_plan() const {
  return pair_->candidate ? race_.candidates()[*pair_->candidate].plan : current_;
}

PlanTrials::Window PlanTrials::ask() const {
  if (!pair_) return {current_, idle_window, 0};
  const bool first = !pair_->first_rate;
  return {first == pair_->plan_first ? tried_plan() : Plan(), options_.window, options_.settle};
}

void PlanTrials::begin_pair(std::optional<std::size_t> candidate) {
  pair_ = Pair{.candidate = candidate, .plan_first = coin_.toss()};
}

void PlanTrials::begin_next() {
  if (const auto next = race_.next()) return begin_pair(next);
  pair_.reset();
  concluded_ = concluded_ || std::ranges::any_of(events_, [](const TrialEvent& event) {
                 return event.kind == TrialEvent::Kind::dropped && event.gain.pairs > 1;
               });
  retry_at_ = time_ + retry_interval_;
  retry_interval_ *= 2;
}

void PlanTrials::schedule_check() {
  pair_.reset();
  check_at_ = time_ + check_interval_;
  check_interval_ = std::min(2 * check_interval_, options_.last_check);
}

void PlanTrials::skip() {
  if (!pair_->candidate) return schedule_check();
  race_.leave(*pair_->candidate);
  begin_next();
}

void PlanTrials::tell(std::optional<double> rate, double seconds) {
  time_ += seconds;
  if (!pair_) {
    if (!current_.untouched() && time_ >= check_at_) {
      check_ratios_.clear();
      begin_pair(std::nullopt);
    }
    if (current_.untouched() && time_ >= retry_at_ && !race_.candidates().empty()) {
      race_.begin_round();
      begin_next();
    }
    return;
  }
  if (!rate || !(*rate > 0)) {
    // The window gave no rate, and its partner is too old by now.
    pair_->first_rate.reset();
    if (++blind_windows_ < most_blind_windows) return;
    blind_windows_ = 0;
    if (pair_->candidate) return drop(*pair_->candidate, {}, "the program showed no progress to judge by");
    return schedule_check();
  }
  if (!pair_->first_rate) {
    pair_->first_rate = rate;
    return;
  }
  blind_windows_ = 0;
  const double log_ratio = std::log(*rate / *pair_->first_rate);
  pair_done(pair_->plan_first ? -log_ratio : log_ratio);
}

void PlanTrials::pair_done(double log_ratio) {
  if (!pair_->candidate) {
    check_ratios_.push_back(log_ratio);
    return check_done();
  }
  const std::size_t candidate = *pair_->candidate;
  PlanRace::Outcome outcome = race_.tell(candidate, log_ratio);
  if (outcome.verdict == PlanRace::Verdict::left)
    return drop(candidate, outcome.gain, std::move(outcome.reason));
  if (outcome.verdict == PlanRace::Verdict::undecided) return begin_next();
  current_ = race_.candidates()[candidate].plan;
  gain_ = outcome.gain;
  check_interval_ = options_.first_check;
  concluded_ = true;
  events_.push_back({TrialEvent::Kind::taken, time_, current_, outcome.gain, ""});
  schedule_check();
}

void PlanTrials::drop(std::size_t candidate, const GainEstimate& gain, std::string reason) {
  events_.push_back(
      {TrialEvent::Kind::dropped, time_, race_.candidates()[candidate].plan, gain, std::move(reason)});
  race_.leave(candidate);
  begin_next();
}

void PlanTrials::check_done() {
  const GainEstimate narrow = estimate_gain(check_ratios_, Confidence::p90);
  const bool better = narrow.pairs >= pairs_of_a_check && narrow.low > 0;
  // Not clearly better: it goes if it is more likely useless than not, after as long a look as in a trial.
  const bool looked = narrow.pairs >= pairs_of_a_check &&
                      (narrow.high < options_.race.least_gain || narrow.pairs >= most_pairs_of_a_check);
  if (!better && !looked) return begin_pair(std::nullopt);
  if (better || narrow.mean >= options_.race.least_gain) {
    if (better) gain_ = narrow;
    events_.push_back(
        {TrialEvent::Kind::kept, time_, current_, narrow, better ? "" : "as far as noise shows"});
    return schedule_check();
  }
  const Plan gone = std::exchange(current_, Plan());
  gain_.reset();
  concluded_ = true;
  events_.push_back({TrialEvent::Kind::taken_back, time_, gone, narrow, "its gain is gone"});
  // The others are tried at once, this one only when all are tried again.
  race_.begin_round();
  for (std::size_t i = 0; i < race_.candidates().size(); ++i)
    if (race_.candidates()[i].plan == gone) race_.leave(i);
  begin_next();
}

}  // namespace millrace::placement
