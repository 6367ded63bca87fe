#include "millrace/stream/auto_choice.h"

#include "millrace/model/plan.h"
#include "millrace/model/prediction.h"
#include "millrace/model/recorded_run.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace::stream {
namespace {

constexpr std::uint64_t first_items = 64;
constexpr double growth_of_items = 16;  // at most, from one phase to the next
// A phase ends with the threads waiting for the last item, so one that is looked at lasts some while.
constexpr double least_phase_s = 0.02;
constexpr double trial_phase_s = 0.05;
constexpr double first_phase_s = 0.1;
constexpr double longest_phase_s = 10;

constexpr double least_gain = 0.03;    // that the model must promise, and the measurement show
constexpr double renewed_gain = 0.12;  // of a plan that has been measured already
constexpr double hopeless = 1.15;      // after one phase
// How much slower than the model says a plan not yet measured is assumed to be, at most, where that in use
// is: the end of a phase and what cores take from each other weigh on all plans alike.
constexpr double common_shortfall = 1.15;
// Each thread works on one item, finds another ready, and two may wait for their turn: where the times of
// items differ so much that this is too little, the model says so.
constexpr int least_tokens = 4;  // a thread
// Of an item's time under the same plan, as a log ratio: the work or the machine changed.
constexpr double large_change = 0.2;
constexpr std::size_t trial_phases = 4;  // of the challenger
constexpr std::int64_t modelled_items = 100'000;
constexpr std::size_t most_decisions = 200;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

std::set<int> thread_counts(int most) {
  if (most <= 4) {
    std::set<int> all;
    for (int t = 1; t <= most; ++t)
      all.insert(t);
    return all;
  }
  return {1, most / 4, most / 2, most - most / 4, most};
}

}  // namespace

std::string to_string(const AutoPlan& plan) {
  return fmt::format("{}, {} thread{}, {} tokens", strategy_name(plan.strategy), plan.threads,
                     plan.threads == 1 ? "" : "s", plan.tokens);
}

std::optional<model::Pipeline> modelled(const RunReport& report) {
  auto run = model::parse_recorded_run(report.to_json().dump(), "the run");
  if (!run) return std::nullopt;
  return std::move(run->pipeline);
}

double predicted_item_seconds(const model::Pipeline& pipeline, const AutoPlan& plan, int queue_depth) {
  const auto strategy =
      plan.strategy == Strategy::collapsed ? model::Strategy::collapsed : model::Strategy::stealing;
  // The formulas do not see order: items that wait for their turn hold tokens of which the others have no
  // use.
  const int usable = std::max(1, plan.tokens - model::tokens_held_for_order(pipeline, plan.threads));
  const model::Plan modelled_plan = model::make_plan(pipeline, strategy, plan.threads, queue_depth, usable);
  return model::predict(pipeline, modelled_plan, modelled_items).point_seconds / modelled_items;
}

AutoChoice::AutoChoice(const AutoLimits& limits)
    : limits_(limits),
      incumbent_{.threads = limits.threads,
                 .tokens = limits.tokens != 0 ? limits.tokens : least_tokens * limits.threads},
      items_(first_items), phase_s_(first_phase_s) {}

void AutoChoice::tell(const RunReport& phase, double at_s) {
  const auto items = phase.stages.empty() ? 0 : phase.stages.front().items_in;
  if (items == 0 || !(phase.wall_s > 0)) return;
  const double measured = phase.wall_s / static_cast<double>(items);
  const AutoPlan plan = next().plan;
  if (phase.wall_s < least_phase_s) return last_for(trial_phase_s, measured);
  const auto pipeline = modelled(phase);
  if (!pipeline) return last_for(longest_phase_s, measured);
  remember(plan, predicted_item_seconds(*pipeline, plan, limits_.queue_depth), measured);
  if (trial_) return tell_trial(measured, at_s);

  if (last_measured_ > 0 && std::abs(std::log(measured / last_measured_)) > large_change) {
    decide(PlanDecision::Kind::changed, at_s, incumbent_, measured, last_measured_);
    phase_s_ = first_phase_s;
  }
  last_measured_ = measured;
  look_for_better(*pipeline, measured, at_s);
}

void AutoChoice::look_for_better(const model::Pipeline& pipeline, double measured, double at_s) {
  const AutoPlan* best = nullptr;
  double best_expected = measured;
  const std::vector<AutoPlan> plans = candidates(pipeline);
  for (const AutoPlan& plan : plans) {
    if (plan == incumbent_) continue;
    const bool tried = std::ranges::find(known_, plan, &Known::plan) != known_.end();
    const double seconds = expected(pipeline, plan);
    if (seconds > measured * (1 - (tried ? renewed_gain : least_gain)) || seconds >= best_expected) continue;
    best = &plan;
    best_expected = seconds;
  }
  if (decisions_.empty()) decide(PlanDecision::Kind::started, at_s, incumbent_, measured, 0);
  if (best == nullptr) {
    // As long as all phases so far: however long the items take, few phases end.
    phase_s_ = std::min(std::max(2 * phase_s_, at_s), longest_phase_s);
    return last_for(phase_s_, measured);
  }
  trial_ = Trial{.plan = *best, .expected = best_expected, .incumbent = {measured}, .challenger = {}};
  last_for(trial_phase_s, best_expected);
}

void AutoChoice::tell_trial(double measured, double at_s) {
  Trial& trial = *trial_;
  (trial.challengers_turn ? trial.challenger : trial.incumbent).push_back(measured);
  const double challenger = median(trial.challenger);
  const double incumbent = median(trial.incumbent);
  const bool over = trial.challenger.size() == trial_phases ||
                    (trial.challengers_turn && challenger > hopeless * incumbent);
  if (!over) {
    trial.challengers_turn = !trial.challengers_turn;
    return last_for(trial_phase_s, trial.challengers_turn ? challenger : incumbent);
  }
  // By chance alone none of four overlaps with any of four others once in 35 trials.
  const bool apart = std::ranges::max(trial.challenger) < std::ranges::min(trial.incumbent);
  const bool better = apart && challenger < incumbent * (1 - least_gain);
  decide(better ? PlanDecision::Kind::adopted : PlanDecision::Kind::rejected, at_s, trial.plan, challenger,
         incumbent);
  if (better) incumbent_ = trial.plan;
  last_measured_ = better ? challenger : incumbent;
  trial_.reset();
  // With other threads, others yet may be worth a trial. What the model was wrong about is not asked often.
  phase_s_ = better ? first_phase_s : std::min(2 * phase_s_, longest_phase_s);
  last_for(trial_phase_s, last_measured_);
}

// Tokens: as many as the model has use for, in powers of two, beginning with the first plan's.
std::vector<AutoPlan> AutoChoice::candidates(const model::Pipeline& pipeline) const {
  std::vector<AutoPlan> plans;
  for (const int threads : thread_counts(limits_.threads)) {
    const int least = least_tokens * threads;
    const auto useful =
        std::bit_ceil(static_cast<unsigned>(std::max(1, model::sufficient_tokens(pipeline, threads))));
    const int tokens = limits_.tokens != 0
                           ? limits_.tokens
                           : std::clamp(static_cast<int>(std::min(useful, 1U << 20)), least, 64 * threads);
    plans.push_back({Strategy::stealing, threads, tokens});
  }
  plans.push_back({Strategy::collapsed, limits_.threads, incumbent_.tokens});
  return plans;
}

// The model knows nothing of what the runtime itself takes; where a plan has been measured, it is corrected
// by that; where not, by what may be common to it and the plan in use.
double AutoChoice::expected(const model::Pipeline& pipeline, const AutoPlan& plan) const {
  const double predicted = predicted_item_seconds(pipeline, plan, limits_.queue_depth);
  auto known = std::ranges::find(known_, plan, &Known::plan);
  if (known == known_.end()) {
    known = std::ranges::find_if(known_, [&](const Known& one) {
      return one.plan.strategy == plan.strategy && one.plan.threads == plan.threads;
    });
  }
  if (known != known_.end()) return predicted * known->measured / known->predicted;
  const auto used = std::ranges::find(known_, incumbent_, &Known::plan);
  if (used == known_.end()) return predicted;
  return predicted * std::clamp(used->measured / used->predicted, 1.0, common_shortfall);
}

void AutoChoice::remember(const AutoPlan& plan, double predicted, double measured) {
  std::erase_if(known_, [&](const Known& one) { return one.plan == plan; });
  if (predicted > 0) known_.push_back({plan, predicted, measured});
}

void AutoChoice::decide(PlanDecision::Kind kind, double at_s, const AutoPlan& plan, double item_s,
                        double against_s) {
  if (decisions_.size() == most_decisions) return;
  decisions_.push_back(
      {.kind = kind, .at_s = at_s, .plan = to_string(plan), .item_s = item_s, .against_s = against_s});
}

void AutoChoice::last_for(double phase_s, double measured) {
  const double wanted = std::min(phase_s / measured, growth_of_items * static_cast<double>(items_));
  items_ = static_cast<std::uint64_t>(std::max(wanted, 1.0));
}

std::string AutoChoice::reason() const {
  const auto count = [&](PlanDecision::Kind kind) {
    return std::ranges::count(decisions_, kind, &PlanDecision::kind);
  };
  if (decisions_.empty()) return "the stream ended before anything could be compared";
  const auto adopted = count(PlanDecision::Kind::adopted);
  const auto rejected = count(PlanDecision::Kind::rejected);
  if (adopted + rejected == 0) return "the model promises no other plan a gain of 3 %";
  if (adopted == 0)
    return fmt::format("{} other plan{} that the model preferred took longer or gained under 3 %", rejected,
                       rejected == 1 ? "" : "s");
  const auto last = std::ranges::find(decisions_.rbegin(), decisions_.rend(), PlanDecision::Kind::adopted,
                                      &PlanDecision::kind);
  return fmt::format("measured {:.3g} times as fast as the plan before", last->against_s / last->item_s);
}

}  // namespace millrace::stream
