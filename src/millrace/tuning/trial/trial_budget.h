// Limits the time that may be lost to trials.
#pragma once

#include <algorithm>
#include <optional>

namespace millrace::tuning {

struct BudgetOptions {
  double opening_share = 0.2;  // of the time in the first opening_seconds after the start or a change
  double opening_seconds = 2;
  double steady_share = 0.01;  // of the time afterwards
  double most_share = 0.02;    // of the time since the start, in addition to the first opening
  double whole_share = 0.015;  // of a stream of known length, per opening
};

// Counts seconds lost, not seconds spent: a challenger as fast as the incumbent costs nothing, and one that
// is five times slower costs four frame times per frame. Credit accrues with time, and trials spend it. A
// trial may begin if the credit covers its expected loss. The credit can fall below 0 by the excess loss of
// one block, which is earned back before the next trial.
//
// If a machine changes speed every other second, each change would reopen the search without ever paying off.
// Therefore all spending after the first opening is limited to most_share of the elapsed time.
class TrialBudget {
 public:
  explicit TrialBudget(const BudgetOptions& options) : options_(options), room_(opening_credit()) {}

  // Starts an opening of `scale` in [0, 1] times opening_seconds, unless the current opening lasts longer.
  void open(double time, double scale) {
    if (!start_) start_ = now_ = time;
    opening_end_ = std::max(opening_end_, time + scale * options_.opening_seconds);
  }
  // Raises the cap on saved credit to the loss of one trial. Otherwise long frames could never be tried.
  void make_room(double seconds) { room_ = std::max(room_, seconds); }
  // Accrues credit for the elapsed time. Unspent credit is kept up to one opening's worth.
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
  // Makes at least this loss affordable now, regardless of earlier spending.
  void reserve(double seconds) {
    seconds *= 1 + 1e-6;  // guards against rounding in differences of sums
    credit_ = std::max(credit_, seconds);
    granted_ += std::max(0.0, seconds - (most() - spent_));
    if (allowed_) allowed_ = std::max(*allowed_, spent_ + seconds);
  }
  // The stream is known to end in `seconds`. Limits the total loss of all trials, however much credit
  // accrues. This protects short streams from an opening that they cannot win back. From half a minute on,
  // the shares above are stricter.
  void allow(double seconds, double scale) {
    allowed_ = allowed_.value_or(spent_) + scale * options_.whole_share * seconds;
  }
  // The length of the stream is no longer known.
  void allow_all() { allowed_.reset(); }
  void spend(double seconds) {
    credit_ -= seconds;
    spent_ += seconds;
  }
  [[nodiscard]] bool opening(double time) const { return time < opening_end_; }
  // Whether the whole allowance is spent.
  [[nodiscard]] bool exhausted() const { return allowed_ && *allowed_ < spent_; }
  [[nodiscard]] double credit() const {
    const double credit = std::min(credit_, most() - spent_);
    return allowed_ ? std::min(credit, *allowed_ - spent_) : credit;
  }
  // Credit as a share of one opening's worth, in [0, 1].
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
  std::optional<double> allowed_;  // limit of spent_
};

}  // namespace millrace::tuning
