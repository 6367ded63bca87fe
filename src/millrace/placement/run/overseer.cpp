#include "millrace/placement/run/overseer.h"

#include "millrace/base/error/clock.h"

#include <algorithm>
#include <utility>

namespace millrace::placement {
namespace {

// How long to watch a program before choosing its source of progress and beginning trials.
constexpr double first_look = 0.3;
// Below this rate, bytes come in lumps that say nothing about a window.
constexpr double least_bytes_for_second = 1e6;
// A program that has not reported anything by then is judged by another source.
constexpr double longest_without_reports = 2;
// Reports further apart than this say nothing about a window.
constexpr double longest_window = 1.5;
// How long to look at wake-ups, at most and at least: once untouched, once under a plan.
constexpr double longest_look = 1;
constexpr double shortest_look = 0.2;
// Shorter programs are not observed.
constexpr std::int64_t before_first_observation_ns = 10'000'000;
// A report this shortly before a moment counts for it, as a share of a window.
constexpr double just_before = 0.1;

}  // namespace

Overseer::Overseer(ThreadRegister& threads, const ReportReader* reports, bool asked, const Plan& followed)
    : threads_(&threads), reports_(reports), asked_(asked), followed_(followed),
      next_ns_(now_ns() + before_first_observation_ns) {}

void Overseer::try_plans(const std::vector<Plan>& candidates, const TrialOptions& options,
                         std::optional<Plan> remembered) {
  trials_.emplace(candidates, options, remembered);
}

Overseer::Reading Overseer::read_progress() {
  Reading now{.time_ns = now_ns(), .times = threads_->observe(), .total = {}};
  now.total_ns = now.time_ns;
  if (!trials_) return now;
  const bool undecided = !source_;
  if (reports_ != nullptr && (undecided || source_ == ProgressSource::reported)) {
    now.total = reports_->total();
    if (now.total) {
      source_ = ProgressSource::reported;
      now.total_ns = reports_->time_ns();
    }
  }
  if (source_ == ProgressSource::bytes || (undecided && !source_))
    now.total = bytes_.total(threads_->processes());
  if (source_ == ProgressSource::instructions) now.total = instructions_.total(threads_->threads());
  return now;
}

// Chooses once, after a first look. Waits for missing reports: for ever, if the user asked for them.
void Overseer::choose_source(const Reading& now) {
  const double passed = seconds(now.time_ns - first_->time_ns);
  if (source_ || (reports_ != nullptr && (asked_ || passed < longest_without_reports))) return;
  reports_ = nullptr;
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

// Covers a time in which one plan is followed.
void Overseer::look_at_wake_ups(const Reading& now) {
  if (trace_) trace_->read(threads_->threads());
  if (look_ && seconds(now.time_ns - look_begun_ns_) >= longest_look) end_look(now);
  const Phase& phase = followed_.untouched() ? untouched_ : changed_;
  const bool turns = trials_ && step_ != Step::waiting && trials_->trying() != nullptr;
  if (look_ || phase.wake_ups || turns || threads_->alive() < 2) return;
  look_.emplace(threads_->threads(), now.times.run_ns);
  if (auto trace = WakeUpTrace::begin()) trace_.emplace(std::move(*trace));
  look_begun_ns_ = now.time_ns;
}

void Overseer::end_look(const Reading& now) {
  if (look_ && seconds(now.time_ns - look_begun_ns_) >= shortest_look) {
    Phase& phase = followed_.untouched() ? untouched_ : changed_;
    phase.wake_ups = look_->until_now(now.times.run_ns);
    if (trace_) phase.wakers = trace_->wakers();
  }
  look_.reset();
  trace_.reset();
}

std::optional<double> Overseer::rate(const Reading& from, const Reading& to) const {
  const double passed = seconds(to.total_ns - from.total_ns);
  const RunTimes times = to.times - from.times;
  // A window says nothing if no thread ran, as after Ctrl-Z, or if it lasted far too long.
  const double longest = source_ == ProgressSource::reported ? longest_window : 2 * window_.seconds;
  if (times.run_ns <= 0 || passed > longest || passed <= 0) return std::nullopt;
  if (!from.total || !to.total) return std::nullopt;
  return (*to.total - *from.total) / passed;
}

void Overseer::begin_window(const Reading& now) {
  // A plan that changes nothing for the present threads needs no trial.
  for (const Plan* plan = trials_->trying();
       plan != nullptr && !plan->untouched() && !threads_->changes_anything(policy_of(*plan));
       plan = trials_->trying())
    trials_->skip();
  window_ = trials_->ask();
  if (window_.plan != followed_) {
    end_look(now);
    followed_ = window_.plan;
    threads_->set_policy(policy_of(followed_));
  }
  window_begun_ns_ = now_ns();
  step_ = Step::settling;
  awaits_report_ = false;
  next_ns_ = window_begun_ns_ + nanoseconds(window_.settle);
}

void Overseer::end_window(const Reading& now, std::optional<double> rate) {
  trials_->tell(rate, seconds(now.time_ns - window_begun_ns_));
  begin_window(now);
}

// True if the known progress holds for about that moment or a later one.
bool Overseer::reported_since(const Reading& now, std::int64_t time_ns) const {
  return source_ != ProgressSource::reported || trials_->trying() == nullptr ||
         now.total_ns >= time_ns - nanoseconds(just_before * window_.seconds);
}

// Called at every observation until a report comes, so that a program that stops reporting does not block the
// trials for ever.
void Overseer::wait_for_report(const Reading& now) {
  awaits_report_ = true;
  if (seconds(now.time_ns - window_begun_ns_) > 2 * longest_window) end_window(now, std::nullopt);
}

void Overseer::settle(const Reading& now) {
  if (!reported_since(now, window_begun_ns_)) return wait_for_report(now);
  awaits_report_ = false;
  window_start_ = now;
  window_end_ns_ = now.total_ns + nanoseconds(window_.seconds - window_.settle);
  step_ = Step::measuring;
  next_ns_ = std::min(next_ns_, window_end_ns_);
}

void Overseer::measure(const Reading& now) {
  if (now.time_ns < window_end_ns_) {
    next_ns_ = std::min(next_ns_, window_end_ns_);
    return;
  }
  if (!reported_since(now, window_end_ns_)) return wait_for_report(now);
  end_window(now, rate(window_start_, now));
}

void Overseer::tick() {
  const Reading now = read_progress();
  account(now, !followed_.untouched());
  look_at_wake_ups(now);
  next_ns_ = now.time_ns + observation_ns;
  if (!trials_) return;
  if (!first_) first_ = now;
  switch (step_) {
  case Step::waiting:
    awaits_report_ = reports_ != nullptr;
    if (threads_->alive() < fewest_threads_) return;
    if (!source_ && seconds(now.time_ns - first_->time_ns) < first_look) return;
    choose_source(now);
    if (source_) begin_window(now);
    // Guesses from waiting times or switches mislead for just those programs that gain.
    if (unjudged_) trials_.reset();
    return;
  case Step::settling:
    return settle(now);
  case Step::measuring:
    return measure(now);
  }
}

void Overseer::finish(Summary& summary) const {
  summary.untouched = untouched_;
  summary.changed = changed_;
  summary.unjudged = unjudged_;
  if (!trials_) {
    summary.plan = followed_;
    // A fixed policy that is not a plan: it applies to the whole run.
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
