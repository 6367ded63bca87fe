#include "millrace/placement/run/overseer.h"

#include "millrace/base/clock.h"

#include <algorithm>
#include <utility>

namespace millrace::placement {
namespace {

// How long a program is watched before it is decided what tells of its progress, and trials begin.
constexpr double first_look = 0.3;
// Slower than this, bytes come in lumps that say nothing within a window.
constexpr double least_bytes_for_second = 1e6;

}  // namespace

Overseer::Overseer(ThreadRegister& threads, ReportReader* reports, const Plan& followed)
    : threads_(&threads), reports_(reports), followed_(followed), next_ns_(now_ns()) {}

void Overseer::try_plans(std::vector<Plan> candidates, const TrialOptions& options,
                         std::optional<Plan> remembered) {
  trials_.emplace(std::move(candidates), options, remembered);
}

Overseer::Reading Overseer::read_progress() {
  Reading now{.time_ns = now_ns(), .times = threads_->observe()};
  if (!trials_) return now;
  const bool undecided = !source_;
  if (reports_ != nullptr && (undecided || source_ == ProgressSource::reported)) {
    now.total = reports_->total();
    if (now.total) source_ = ProgressSource::reported;
  }
  if (source_ == ProgressSource::bytes || (undecided && !source_))
    now.total = bytes_.total(threads_->processes());
  if (source_ == ProgressSource::instructions) now.total = instructions_.total(threads_->threads());
  return now;
}

// Once, after a first look. Reports that have not come by then are waited for, where they were asked for.
void Overseer::choose_source(const Reading& now) {
  if (source_ || reports_ != nullptr) return;
  const double passed = seconds(now.time_ns - first_->time_ns);
  if (now.total && first_->total && (*now.total - *first_->total) / passed >= least_bytes_for_second)
    source_ = ProgressSource::bytes;
  else if (instructions_.total(threads_->threads()))
    source_ = ProgressSource::instructions;
  else
    unjudged_ = true;
}

void Overseer::account(const Reading& now, bool changed) {
  const std::int64_t migrations = threads_->migrations();
  if (last_.time_ns != 0) {
    Phase& phase = changed ? changed_ : untouched_;
    phase.seconds += seconds(now.time_ns - last_.time_ns);
    phase.times += now.times - last_.times;
    phase.migrations += migrations - last_migrations_;
  }
  last_ = now;
  last_migrations_ = migrations;
}

std::optional<double> Overseer::rate(const Reading& from, const Reading& to) const {
  const double passed = seconds(to.time_ns - from.time_ns);
  const RunTimes times = to.times - from.times;
  // A window in which nothing ran, as after Ctrl-Z, tells nothing; nor does one that lasted far too long.
  if (times.run_ns <= 0 || passed > 2 * window_.seconds) return std::nullopt;
  if (!from.total || !to.total) return std::nullopt;
  return (*to.total - *from.total) / passed;
}

void Overseer::begin_window() {
  window_ = trials_->ask();
  // A plan that is the same as untouched for the threads there are needs no trial.
  while (trials_->trying() && !window_.plan.untouched() &&
         !threads_->changes_anything(policy_of(window_.plan))) {
    trials_->skip();
    window_ = trials_->ask();
  }
  if (window_.plan != followed_) {
    followed_ = window_.plan;
    threads_->set_policy(policy_of(followed_));
  }
  const std::int64_t now = now_ns();
  window_end_ns_ = now + nanoseconds(window_.seconds);
  step_ = Step::settling;
  next_ns_ = now + nanoseconds(window_.settle);
}

void Overseer::end_window(const Reading& now) {
  trials_->tell(rate(window_start_, now));
  begin_window();
}

void Overseer::tick() {
  const Reading now = read_progress();
  account(now, !followed_.untouched());
  next_ns_ = now.time_ns + observation_ns;
  if (!trials_) return;
  if (!first_) first_ = now;
  switch (step_) {
  case Step::waiting:
    // One thread alone gains nothing from where it is.
    if (now.time_ns - first_->time_ns < nanoseconds(first_look) || threads_->alive() < 2) return;
    choose_source(now);
    if (source_) begin_window();
    // Guessing, from how long threads wait or how often they switch, misleads with just those that gain.
    if (unjudged_) trials_.reset();
    return;
  case Step::settling:
    window_start_ = now;
    step_ = Step::measuring;
    next_ns_ = std::min(next_ns_, window_end_ns_);
    return;
  case Step::measuring:
    if (now.time_ns < window_end_ns_) {
      next_ns_ = std::min(next_ns_, window_end_ns_);
      return;
    }
    end_window(now);
  }
}

void Overseer::finish(Summary& summary) {
  summary.untouched = untouched_;
  summary.changed = changed_;
  summary.unjudged = unjudged_;
  if (!trials_) {
    summary.plan = followed_;
    // A fixed policy that is no plan: the whole run is under it.
    if (summary.threads.changes > 0 && followed_.untouched()) std::swap(summary.untouched, summary.changed);
    return;
  }
  summary.progress = source_;
  summary.events = trials_->events();
  summary.plan = trials_->plan();
  summary.learnt = trials_->concluded();
  summary.gain = trials_->gain();
}

}  // namespace millrace::placement
