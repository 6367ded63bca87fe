#include "millrace/tuning/tuner/tuner.h"

#include "millrace/tuning/estimate/expected_improvement.h"

#include <algorithm>
#include <cmath>

namespace millrace::tuning {
namespace {

constexpr double opening_frames = 3;      // that may be lost at once, so that short streams are tuned too
constexpr double frames_of_a_trial = 12;  // maximum expected loss of a trial

constexpr double disturbed_factor = 1.5;
constexpr double incumbent_deviation = 0.02;

// An alarm increases the uncertainty in proportion to the change. Part of a large change is attributed to the
// incumbent alone, so that close rivals get a chance. The rest may affect the whole machine.
constexpr double doubt_of_change = 0.6;
constexpr double least_doubt = 0.05;
constexpr double most_doubt = 0.4;
constexpr double large_change = 0.15;
constexpr double incumbents_share = 0.35;
constexpr double full_grant_change = 0.3;  // log change that grants the whole opening after an alarm
constexpr double context_deviation = 0.4;
constexpr double alarm_memory = 60;  // seconds until a fruitless alarm is forgotten
// Significant log ratio of a promotion that justifies the preceding alarm.
constexpr double fruitful_gain = 0.05;

constexpr double reinvested_gain = 0.25;  // log ratio of a promotion that grants the whole opening

constexpr double profile_opening = 0.3;  // share of the opening budget

}  // namespace

Tuner::Tuner(const Space& space, TunerOptions options)
    : space_(&space), options_(std::move(options)), knowledge_(static_cast<std::size_t>(space.size())),
      model_(space, options_.prior), budget_(options_.budget), record_(options_.record_length),
      random_(options_.seed) {
  wanted_.reserve(static_cast<std::size_t>(std::max(0, options_.wanted_builds)));
  if (!options_.build.empty()) {
    for (int c = 0; c < space.size(); ++c)
      of(c).ready = options_.build[static_cast<std::size_t>(c)] < 0;
  }
}

Result<Tuner> Tuner::make(const Space& space, TunerOptions options) {
  const auto inside = [&](int candidate) { return candidate >= 0 && candidate < space.size(); };
  const auto fits = [&](const auto& values) { return values.empty() || std::ssize(values) == space.size(); };
  const auto positive = [](double value) { return value > 0 && std::isfinite(value); };
  if (!std::ranges::all_of(options.first, inside)) {
    return usage_error("a candidate to try first is not one of the {} in the space", space.size());
  }
  if (!std::ranges::all_of(options.build, [&](int build) {
        return build < 0 || options.build_seconds.empty() || build < std::ssize(options.build_seconds);
      })) {
    return usage_error("build_seconds needs a value for each build");
  }
  if (!fits(options.prior) || !fits(options.build) || !fits(options.resources)) {
    return usage_error("prior, build and resources need one value for each of the {} candidates",
                       space.size());
  }
  if (!std::ranges::all_of(options.prior, positive))
    return usage_error("every prior cost must be more than 0");
  if (!std::ranges::all_of(options.resources, [](double value) { return value >= 1; })) {
    return usage_error("every candidate's resources must be at least 1");
  }
  if (options.objective.aim == Aim::deadline && !positive(options.objective.deadline)) {
    return usage_error("the deadline must be more than 0 seconds");
  }
  if (options.remembered) {
    const bool known = inside(options.remembered->incumbent) &&
                       std::ranges::all_of(options.remembered->costs, [&](const RememberedCost& cost) {
                         return inside(cost.candidate) && positive(cost.ratio);
                       });
    if (!known) return usage_error("the profile remembers candidates that are not in the space");
  }
  return Tuner(space, std::move(options));
}

double Tuner::resources(int candidate) const {
  return options_.resources.empty() ? 1 : options_.resources[static_cast<std::size_t>(candidate)];
}

// Called at the first frame, because until then the caller may report what is ready.
void Tuner::start() {
  bool remembered = options_.remembered && runnable(options_.remembered->incumbent);
  incumbent_ = remembered ? options_.remembered->incumbent : first_guess();
  learn_remembered();
  model_.observe(incumbent_, level_, least_deviation);
  if (const int better = remembered ? better_than_remembered() : -1; better >= 0) {
    remembered = false;
    of(incumbent_).remembered = level_;
    level_ = model_.mean(better);
    incumbent_ = better;
  }
  from_profile_ = remembered;
  crowning_ = {.kind = EventKind::started,
               .candidate = incumbent_,
               .chosen = remembered ? Reason::remembered : Reason::prior};
}

// The first candidate without any measurement: from the caller's list, else the one with the lowest prior
// cost.
int Tuner::first_guess() const {
  const auto found = std::ranges::find_if(options_.first, [&](int candidate) { return runnable(candidate); });
  if (found != options_.first.end()) return *found;
  const auto prior = [&](int candidate) {
    return options_.prior.empty() ? 1 : options_.prior[static_cast<std::size_t>(candidate)];
  };
  int best = -1;
  int waiting = -1;
  for (int c = 0; c < space_->size(); ++c) {
    if (runnable(c) && (best < 0 || prior(c) < prior(best))) best = c;
    if (waiting < 0 && of(c).available) waiting = c;
  }
  if (best >= 0) return best;
  // If every candidate needs a compilation first, the caller's stand-in runs under this name.
  const auto suggested =
      std::ranges::find_if(options_.first, [&](int candidate) { return of(candidate).available; });
  return suggested != options_.first.end() ? *suggested : std::max(waiting, 0);
}

Trial Tuner::ask() {
  if (incumbent_ < 0) start();
  if (!race_) return {incumbent_, 1, Role::incumbent};
  const Race::Next next = race_->next();
  if (next.challenger) {
    const std::int64_t most = std::max<std::int64_t>(1, frames_for_verification());
    return {trial_.candidate, static_cast<int>(std::min<std::int64_t>(next.batches, most)), Role::challenger};
  }
  return {incumbent_, next.batches, Role::incumbent};
}

void Tuner::start_clock(const Observation& observation) {
  clock_started_ = true;
  start_time_ = observation.time - observation.seconds;
  now_ = start_time_;
  last_alarm_ = start_time_;
  verify_soon();
  budget_.open(start_time_, options_.remembered ? profile_opening : 1);
  budget_.grant(opening_frames * observation.seconds / observation.frames);
  budget_.make_room(frames_of_a_trial * observation.seconds / observation.frames);
  crowning_.time = start_time_;
  record_.restamp(start_time_);  // includes earlier refusals
  record_.add(crowning_);
}

void Tuner::tell(const Observation& observation) {
  if (!(observation.seconds > 0) || observation.frames < 1) return;
  const Trial asked = ask();
  if (!clock_started_) start_clock(observation);
  if (observation.time > now_) {
    budget_.advance(now_, observation.time);
    now_ = observation.time;
  }
  if (observation.switching > 0) charge_switching(observation.switching);
  if (observation.candidate != asked.candidate) {
    noise_.interrupt();
    return;
  }
  const double log_cost = options_.objective.log_cost(observation, resources(observation.candidate));
  if (race_) {
    tell_race(observation, log_cost);
  } else {
    if (returning_)
      budget_.spend(std::max(0.0, observation.seconds - observation.frames * incumbent_seconds_));
    returning_ = false;
    learn_trial_loss();
    tell_incumbent(observation, log_cost);
  }
  if (!race_) consider();
}

void Tuner::charge_switching(double seconds) {
  constexpr double renewal = 0.1;
  switching_seconds_ =
      switching_seconds_ > 0 ? switching_seconds_ + renewal * (seconds - switching_seconds_) : seconds;
  budget_.spend(seconds);
}

void Tuner::tell_incumbent(const Observation& observation, double log_cost) {
  if (!observation.trusted) {
    noise_.interrupt();
    return;
  }
  noise_.add(log_cost);
  recent_.add(log_cost, observation.seconds / observation.frames);
  if (!detector_.add(observation.time, log_cost)) return;

  if (now_ - last_alarm_ > alarm_memory) alarm_scale_ = 1;
  last_alarm_ = now_;
  record_.add(
      {.kind = EventKind::drift, .time = now_, .candidate = incumbent_, .ratio = detector_.last_change()});
  recent_.clear();
  const double change = std::log(detector_.last_change());
  const double size = std::abs(change);
  if (size > large_change) level_ += incumbents_share * change;
  doubt(std::clamp(doubt_of_change * size, least_doubt, most_doubt),
        alarm_scale_ * std::min(1.0, size / full_grant_change));
  alarm_scale_ /= 2;
}

void Tuner::tell_race(const Observation& observation, double log_cost) {
  const bool challenger = race_->next().challenger;
  const bool warming = race_->warming();
  const double excess = observation.seconds - observation.frames * incumbent_seconds_;
  if (challenger) {
    trial_.frames += observation.frames;
    race_excess_ += excess;
    noise_.interrupt();
  } else {
    if (warming) {
      race_excess_ += std::max(0.0, excess);
      noise_.interrupt();
    } else {
      tell_incumbent(observation, log_cost);
    }
  }
  if (race_excess_ > race_charged_) {
    budget_.spend(race_excess_ - race_charged_);
    race_charged_ = race_excess_;
  }
  if (challenger) verification_frames_ -= observation.frames;
  Verdict verdict = race_->tell(log_cost, observation.trusted);
  if (verdict == Verdict::open && out_of_means(challenger)) verdict = Verdict::undecided;
  if (verdict == Verdict::open) return;
  returning_ = challenger;
  conclude(verdict);
}

void Tuner::conclude(Verdict verdict) {
  const int candidate = trial_.candidate;
  const double log_ratio = race_->log_ratio();
  const double error = race_->error();
  const double level = level_ + std::min(log_ratio, worst_level);
  const double deviation = std::max(least_deviation, std::min(error, worst_level / 2) *
                                                         (race_->disturbed() ? disturbed_factor : 1));
  model_.observe(candidate, level, deviation);
  of(candidate).level = level;
  of(candidate).deviation = deviation;
  ++of(candidate).trials;
  check_profile(candidate, log_ratio, error);
  switch (verdict) {
  case Verdict::clearly_worse:
    end_race(Reason::clearly_worse);
    break;
  case Verdict::not_better:
    end_race(Reason::not_better);
    break;
  case Verdict::better: {
    if (race_->disturbed()) recheck_ = incumbent_;
    end_race(Reason::better);
    promote(level, trial_);
    break;
  }
  case Verdict::undecided:
  case Verdict::open:
    end_race(Reason::undecided);
    break;
  }
}

void Tuner::end_race(Reason verdict) {
  constexpr double interval = 1.96;
  const double error = race_->error();
  trial_.time = now_;
  trial_.ratio = std::exp(race_->log_ratio());
  trial_.low = std::exp(race_->log_ratio() - interval * error);
  trial_.high = std::exp(race_->log_ratio() + interval * error);
  trial_.cost = std::exp(race_->challenger_log_cost());
  trial_.verdict = verdict;
  record_.add(trial_);
  race_.reset();
  choice_ = {};
  consider_at_ = now_;
  if (!returning_) learn_trial_loss();
}

void Tuner::promote(double level, const Event& trial) {
  crowning_ = trial;
  crowning_.kind = EventKind::incumbent;
  record_.add(crowning_);
  of(incumbent_).level = level_;
  of(incumbent_).deviation = least_deviation;
  of(incumbent_).trials = std::max(1, of(incumbent_).trials);
  incumbent_ = trial.candidate;
  level_ = level;
  incumbent_seconds_ *= trial.ratio;
  recent_.clear();
  detector_.reset();
  noise_.interrupt();
  // Counts only the significant part of the gain.
  const double gain = std::max(0.0, -std::log(trial.high));
  if (gain > fruitful_gain) alarm_scale_ = 1;
  verify_soon();
  // After one improvement there may be more: invest part of the savings in the search.
  budget_.open(now_, std::min(1.0, gain / reinvested_gain));
  open_trials(std::min(1.0, gain / reinvested_gain));
}

// Makes the incumbent the origin again. Otherwise its level would drift away with every change of the
// situation.
void Tuner::doubt(double deviation, double scale) {
  model_.widen(deviation, level_, worst_level);
  for (Knowledge& known : knowledge_) {
    known.level = std::min(known.level - level_, worst_level);
    if (known.remembered) *known.remembered -= level_;
  }
  level_ = 0;
  model_.observe(incumbent_, level_, incumbent_deviation);
  budget_.open(now_, scale);
  budget_.grant(opening_frames * incumbent_seconds_ * scale);
  open_trials(scale);
  choice_ = {};
  consider_at_ = now_;
  verify_soon();
}

void Tuner::context_changed(double time) {
  if (!clock_started_) return;
  now_ = std::max(now_, time);
  if (race_) end_race(Reason::interrupted);
  record_.add({.kind = EventKind::context, .time = now_, .candidate = incumbent_});
  recent_.clear();
  detector_.reset();
  noise_.interrupt();
  alarm_scale_ = 1;
  from_profile_ = false;
  doubt(context_deviation, 1);
}

bool Tuner::same_build(int a, int b) const {
  if (a == b) return true;
  if (options_.build.empty()) return false;
  const int build = options_.build[static_cast<std::size_t>(a)];
  return build >= 0 && build == options_.build[static_cast<std::size_t>(b)];
}

void Tuner::ready(int candidate) {
  for (int c = 0; c < space_->size(); ++c) {
    if (same_build(candidate, c)) of(c).ready = true;
  }
  for (const int wanted : wanted_)
    if (same_build(candidate, wanted) && !of(wanted).remembered) compiled_ = wanted;
  std::erase_if(wanted_, [&](int wanted) { return same_build(candidate, wanted); });
  choice_ = {};
  consider_at_ = now_;
}

void Tuner::cannot_compile(int candidate) {
  for (int c = 0; c < space_->size(); ++c) {
    if (same_build(candidate, c) && c != incumbent_) of(c).available = false;
  }
  std::erase_if(wanted_, [&](int wanted) { return same_build(candidate, wanted); });
  if (race_ && !runnable(trial_.candidate)) end_race(Reason::interrupted);
  choice_ = {};
  consider_at_ = now_;
}

bool Tuner::cannot_run(std::span<const int> candidates) {
  if (candidates.empty()) return true;
  const auto refused = [&](int c) { return std::ranges::find(candidates, c) != candidates.end(); };
  bool others = false;
  for (int c = 0; c < space_->size() && !others; ++c)
    others = of(c).available && !refused(c);
  if (!others) return false;

  for (const int candidate : candidates)
    of(candidate).available = false;
  std::erase_if(wanted_, refused);
  record_.add({.kind = EventKind::refused, .time = now_, .candidate = candidates.front()});
  if (race_ && (refused(trial_.candidate) || refused(incumbent_))) end_race(Reason::interrupted);
  if (recheck_ >= 0 && refused(recheck_)) recheck_ = -1;
  choice_ = {};
  consider_at_ = now_;
  if (incumbent_ >= 0 && refused(incumbent_)) replace_incumbent();
  return true;
}

// Selects the candidate believed to be closest to the incumbent, which can no longer run.
void Tuner::replace_incumbent() {
  int best = -1;
  for (int c = 0; clock_started_ && c < space_->size(); ++c) {
    if (runnable(c) && (best < 0 || model_.mean(c) < model_.mean(best))) best = c;
  }
  if (best < 0) best = first_guess();
  crowning_ = {.kind = clock_started_ ? EventKind::incumbent : EventKind::started,
               .time = now_,
               .candidate = best,
               .against = incumbent_,
               .chosen = Reason::successor,
               .verdict = Reason::successor};
  if (clock_started_) record_.add(crowning_);
  const double level = model_.mean(best);
  incumbent_seconds_ *= std::exp(level - level_);
  incumbent_ = best;
  level_ = level;
  model_.observe(incumbent_, level_, incumbent_deviation);
  recent_.clear();
  detector_.reset();
  noise_.interrupt();
  verify_soon();
}

}  // namespace millrace::tuning
