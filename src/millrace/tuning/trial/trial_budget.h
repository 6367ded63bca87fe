// How much time may be lost to trials.
#pragma once

#include <algorithm>
#include <optional>

namespace millrace::tuning {

struct BudgetOptions {
  double opening_share = 0.2;  // of the time, in the first opening_seconds after the start or a change
  double opening_seconds = 2;
  double steady_share = 0.01;  // of the time, later
  double most_share = 0.02;    // of the time since the start, beside the first opening
  double whole_share = 0.015;  // of a stream whose length is known, for each opening of it
};

// Counts seconds lost, not seconds spent: a challenger as fast as the incumbent costs nothing, one five times
// slower four frames a frame. Credit accrues with time and is spent by trials. A trial may begin when the
// credit covers what it is expected to lose, so the credit may fall below 0 by what one block loses beyond
// that; it is earned back before the next trial.
//
// Where a machine changes its speed every other second, each change would open the search anew, and none of
// these would pay: all that is spent after the first opening is limited to most_share of the time so far.
class TrialBudget {
 public:
  explicit TrialBudget(const BudgetOptions& options) : options_(options), room_(opening_credit()) {}

  // The share of the opening from now on, for `scale` in [0, 1] of its seconds, or longer if it was to last
  // longer.
  void open(double time, double scale) {
    if (!start_) start_ = now_ = time;
    opening_end_ = std::max(opening_end_, time + scale * options_.opening_seconds);
  }
  // A trial may lose so much: less is never all that may be kept, or long frames would not be tried at all.
  void make_room(double seconds) { room_ = std::max(room_, seconds); }
  // Time has passed. What is not spent is kept for up to one opening's worth.
  void advance(double from, double to) {
    now_ = to;
    const double opening = std::clamp(opening_end_ - from, 0.0, to - from);
    credit_ += opening * options_.opening_share + (to - from - opening) * options_.steady_share;
    credit_ = std::min(credit_, room_);
  }
  void grant(double seconds) {
    credit_ += seconds;
    granted_ += seconds;
  }
  // At least so much may be lost now, whatever was spent before.
  void reserve(double seconds) {
    seconds *= 1 + 1e-6;  // that differences of sums are not a little less
    credit_ = std::max(credit_, seconds);
    granted_ += std::max(0.0, seconds - (most() - spent_));
    if (allowed_) allowed_ = std::max(*allowed_, spent_ + seconds);
  }
  // The stream is known to end `seconds` from now: all trials together may lose no more than what is allowed
  // here, however much credit accrues. Short streams are so kept from losing to their opening what they
  // cannot win back; from half a minute on it binds no more than the shares above do.
  void allow(double seconds, double scale) {
    allowed_ = allowed_.value_or(spent_) + scale * options_.whole_share * seconds;
  }
  // Its length is not known any more.
  void allow_all() { allowed_.reset(); }
  void spend(double seconds) {
    credit_ -= seconds;
    spent_ += seconds;
  }
  [[nodiscard]] bool opening(double time) const { return time < opening_end_; }
  // All that was allowed is spent.
  [[nodiscard]] bool exhausted() const { return allowed_ && *allowed_ < spent_; }
  [[nodiscard]] double credit() const {
    const double credit = std::min(credit_, most() - spent_);
    return allowed_ ? std::min(credit, *allowed_ - spent_) : credit;
  }
  // How much of what may be kept is there, in [0, 1].
  [[nodiscard]] double abundance() const { return std::clamp(credit() / opening_credit(), 0.0, 1.0); }
  [[nodiscard]] double spent() const { return spent_; }

 private:
  [[nodiscard]] double opening_credit() const { return options_.opening_share * options_.opening_seconds; }
  [[nodiscard]] double most() const {
    return opening_credit() + granted_ + options_.most_share * (now_ - start_.value_or(now_));
  }

  BudgetOptions options_;
  double room_;
  std::optional<double> start_;
  double now_ = 0;
  double granted_ = 0;
  double opening_end_ = 0;
  double credit_ = 0;
  double spent_ = 0;
  std::optional<double> allowed_;  // of spent_
};

}  // namespace millrace::tuning
