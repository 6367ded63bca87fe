// How much time may be lost to trials.
#pragma once

#include <algorithm>
#include <optional>

namespace millrace::tuning {

struct BudgetOptions {
  double opening_share = 0.2;  // of the time, in the first opening_seconds after the start or a change
  double opening_seconds = 2;
  double steady_share = 0.01;  // of the time, later
  double whole_share = 0.015;  // of a stream whose length is known, for each opening of it
};

// Counts seconds lost, not seconds spent: a challenger as fast as the incumbent costs nothing, one five times
// slower four frames a frame. Credit accrues with time and is spent by trials. A trial may begin when the
// credit covers what it is expected to lose, so the credit may fall below 0 by what one block loses beyond
// that; it is earned back before the next trial.
class TrialBudget {
 public:
  explicit TrialBudget(const BudgetOptions& options) : options_(options) {}

  // The share of the opening from now on, for `scale` in [0, 1] of its seconds, or longer if it was to last
  // longer.
  void open(double time, double scale) {
    opening_end_ = std::max(opening_end_, time + scale * options_.opening_seconds);
  }
  // Time has passed. What is not spent is kept for up to one opening's worth.
  void advance(double from, double to) {
    const double opening = std::clamp(opening_end_ - from, 0.0, to - from);
    credit_ += opening * options_.opening_share + (to - from - opening) * options_.steady_share;
    credit_ = std::min(credit_, options_.opening_share * options_.opening_seconds);
  }
  void grant(double seconds) { credit_ += seconds; }
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
  [[nodiscard]] double credit() const { return allowed_ ? std::min(credit_, *allowed_ - spent_) : credit_; }
  // How much of what may be kept is there, in [0, 1].
  [[nodiscard]] double abundance() const {
    return std::clamp(credit_ / (options_.opening_share * options_.opening_seconds), 0.0, 1.0);
  }
  [[nodiscard]] double spent() const { return spent_; }

 private:
  BudgetOptions options_;
  double opening_end_ = 0;
  double credit_ = 0;
  double spent_ = 0;
  std::optional<double> allowed_;  // of spent_
};

}  // namespace millrace::tuning
