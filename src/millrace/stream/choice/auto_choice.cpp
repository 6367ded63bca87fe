#include "millrace/stream/choice/auto_choice.h"

#include "millrace/base/numbers/median.h"
#include "millrace/model/pipeline/plan.h"
#include "millrace/model/pipeline/recorded_run.h"
#include "millrace/model/prediction/prediction.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace millrace::stream {
namespace {

constexpr std::uint64_t first_items = 64;
constexpr double growth_of_items = 16;  // maximum from one phase to the next
// Threads wait for the last item at the end of a phase, so a phase must last long enough to be reviewed.
constexpr double least_phase_s = 0.02;
constexpr double trial_phase_s = 0.05;
constexpr double first_phase_s = 0.1;
// An unmeasured plan can be slower than predicted by any factor, because the model ignores the overhead of
// the runtime. So its trial begins with few items. If even a phase too short to review took that much longer
// than starting and ending threads does, the plan is rejected.
constexpr double first_trial_items = 256;
constexpr double threads_start_s = 0.005;
constexpr double longest_phase_s = 10;

constexpr double least_gain = 0.03;    // required of the model's prediction and of the measurement
constexpr double renewed_gain = 0.12;  // for a plan that was measured before
constexpr double hopeless = 1.15;      // after one phase
constexpr double clear_gain = 0.06;    // after two phases, for plans whose phases are comparable
// Maximum assumed shortfall of an unmeasured plan against the model if the current plan is slower than
// predicted: phase ends and contention between cores affect all plans alike.
constexpr double common_shortfall = 1.15;
// Each thread works on one item, finds another ready, and two may wait for their turn. If item times vary too
// much for this, the model or the starving threads show it.
constexpr int least_tokens = 4;  // per thread
// Used before the first measurement. A stream that ends earlier takes as long as with `stealing`. Long items
// shorten this phase anyway.
constexpr int first_tokens = 16;  // per thread
constexpr double opening_phase_s = 0.05;
constexpr int most_tokens_a_thread = 64;
constexpr int growth_of_tokens = 4;  // if only the starving threads ask for more
// Log ratio of item times under the same plan above which the work or the machine must have changed.
constexpr double large_change = 0.2;
constexpr std::size_t trial_phases = 4;  // of the challenger
// Enough to show the effect of a one-in-fifty item, and done in 1 to 2 ms, during which no thread works.
constexpr int modelled_items = 2048;
constexpr std::size_t most_decisions = 200;

model::StageKind modelled_kind(std::string_view kind) {
  if (kind == kind_name(Kind::parallel)) return model::StageKind::parallel;
  return kind == kind_name(Kind::serial_in_order) ? model::StageKind::ordered : model::StageKind::serial;
}

// Time of one item in all stages.
double work_seconds(const RunReport& phase, double items) {
  double sum = 0;
  for (const StageReport& stage : phase.stages)
    sum += stage.busy_s;
  return sum / items;
}

// Time of one item in the slowest serial stage. No plan is faster.
double serial_seconds(const RunReport& phase, double items) {
  double most = 0;
  for (const StageReport& stage : phase.stages)
    if (stage.kind != kind_name(Kind::parallel)) most = std::max(most, stage.busy_s);
  return most / items;
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
  std::vector<model::RecordedStage> stages;
  for (const StageReport& stage : report.stages)
    stages.push_back({.name = stage.name,
                      .kind = modelled_kind(stage.kind),
                      .waits = stage.blocking,
                      .items_in = static_cast<double>(stage.items_in),
                      .items_out = static_cast<double>(stage.items_out),
                      .busy_s = stage.busy_s,
                      .service_s = stage.service_s});
  auto pipeline = model::recorded_pipeline(stages);
  if (!pipeline) return std::nullopt;
  return std::move(*pipeline);
}

double starved_for_tokens(const RunReport& phase) {
  if (phase.stages.empty() || !(phase.wall_s > 0) || phase.threads < 1) return 0;
  if (phase.peak_bytes >= phase.byte_budget) return 0;  // bytes may have shut the source
  const double shut_s = std::min(phase.stages.front().blocked_s, phase.wall_s);
  return std::min(phase.idle_s / phase.threads, shut_s) / phase.wall_s;
}

AutoChoice::AutoChoice(const AutoLimits& limits)
    : limits_(limits),
      incumbent_{.threads = limits.threads,
                 .tokens = limits.tokens != 0 ? limits.tokens : first_tokens * limits.threads},
      begins_(limits.tokens == 0), items_(first_items), phase_s_(first_phase_s) {}

AutoChoice::Phase AutoChoice::next() const {
  if (begins_) return {.plan = incumbent_, .items = items_, .seconds = opening_phase_s};
  if (!trial_) return {.plan = incumbent_, .items = items_};
  return {.plan = trial_plan(), .items = items_, .seconds = trial_phase_s};
}

void AutoChoice::tell(const RunReport& phase, double at_s) {
  const auto items = phase.stages.empty() ? 0 : static_cast<double>(phase.stages.front().items_in);
  if (!(items > 0) || !(phase.wall_s > 0)) return;
  const double measured = phase.wall_s / items;
  const AutoPlan plan = next().plan;
  if (phase.wall_s < least_phase_s && !is_hopeless(phase)) return last_for(trial_phase_s, measured);
  if (begins_) return settle(measured);
  auto pipeline = modelled(phase);
  if (!pipeline) return last_for(longest_phase_s, measured);
  model::OrderedTail tail(*pipeline, std::max(modelled_items, 64 * limits_.threads));
  const Seen seen{.pipeline = std::move(*pipeline),
                  .tail = std::move(tail),
                  .item_s = measured,
                  .item_with_tokens_s =
                      std::max(measured * (1 - starved_for_tokens(phase)), serial_seconds(phase, items)),
                  .work_s = work_seconds(phase, items)};
  remember(plan, predicted(seen, plan), measured);
  if (trial_) return tell_trial(seen, at_s);

  if (last_measured_ > 0 && std::abs(std::log(measured / last_measured_)) > large_change) {
    decide(PlanDecision::Kind::changed, at_s, incumbent_, measured, last_measured_);
    phase_s_ = first_phase_s;
  }
  last_measured_ = measured;
  look_for_better(seen, at_s);
}

void AutoChoice::settle(double measured) {
  begins_ = false;
  incumbent_.tokens = least_tokens * limits_.threads;
  last_for(first_phase_s, measured);
  // With this many items, the time lost waiting for the last item of a phase is negligible, however long each
  // takes.
  items_ = std::max(items_, first_items);
}

bool AutoChoice::tell_refused(const Error& reason, double at_s) {
  if (!trial_ || !trial_->challengers_turn) return false;
  refused_.push_back(trial_->plan);
  refusal_ = reason.message;
  const double incumbent = median(trial_->incumbent);
  decide(PlanDecision::Kind::rejected, at_s, trial_->plan, 0, incumbent);
  end_trial(incumbent);
  return true;
}

bool AutoChoice::is_hopeless(const RunReport& phase) const {
  if (!trial_ || !trial_->challengers_turn) return false;
  const auto items = static_cast<double>(phase.stages.front().items_in);
  return phase.wall_s > threads_start_s + hopeless * items * median(trial_->incumbent);
}

void AutoChoice::look_for_better(const Seen& seen, double at_s) {
  std::optional<AutoPlan> best;
  double best_expected = seen.item_s;
  for (const AutoPlan& plan : candidates(seen)) {
    const double seconds = expected(seen, plan);
    if (!worth_a_trial(seen, plan, seconds) || seconds >= best_expected) continue;
    best = plan;
    best_expected = seconds;
  }
  if (!best) {
    best = with_more_tokens();
    best_expected = seen.item_with_tokens_s;
    if (best && !worth_a_trial(seen, *best, best_expected)) best.reset();
  }
  if (decisions_.empty()) decide(PlanDecision::Kind::started, at_s, incumbent_, seen.item_s, 0);
  if (!best) {
    // As long as all phases so far together, so that few phases end however long the items take.
    phase_s_ = std::min(std::max(2 * phase_s_, at_s), longest_phase_s);
    return last_for(phase_s_, seen.item_s);
  }
  const bool only_tokens_differ =
      best->strategy == incumbent_.strategy && best->threads == incumbent_.threads;
  trial_ = Trial{.plan = *best,
                 .work_s = only_tokens_differ ? seen.work_s : 0,
                 .incumbent = {seen.item_s},
                 .challenger = {}};
  last_for(trial_phase_s, best_expected);
  if (!is_known(*best)) items_ = std::min(items_, static_cast<std::uint64_t>(first_trial_items));
}

bool AutoChoice::worth_a_trial(const Seen& seen, const AutoPlan& plan, double seconds) const {
  if (plan == incumbent_ || is_refused(plan)) return false;
  const bool tried = std::ranges::find(known_, plan, &Known::plan) != known_.end();
  return seconds <= seen.item_s * (1 - (tried ? renewed_gain : least_gain));
}

// Ignores tokens.
bool AutoChoice::is_known(const AutoPlan& plan) const {
  return std::ranges::any_of(known_, [&](const Known& one) {
    return one.plan.strategy == plan.strategy && one.plan.threads == plan.threads;
  });
}

// Whether a plan that needs no more than this one was refused.
bool AutoChoice::is_refused(const AutoPlan& plan) const {
  return std::ranges::any_of(refused_, [&](const AutoPlan& one) {
    return one.strategy == plan.strategy && one.threads <= plan.threads && one.tokens <= plan.tokens;
  });
}

// Starving threads reveal what the model does not see: items that come in bursts or vary together.
std::optional<AutoPlan> AutoChoice::with_more_tokens() const {
  const int most = most_tokens_a_thread * incumbent_.threads;
  if (limits_.tokens != 0 || incumbent_.tokens >= most) return std::nullopt;
  return AutoPlan{.strategy = incumbent_.strategy,
                  .threads = incumbent_.threads,
                  .tokens = std::min(growth_of_tokens * incumbent_.tokens, most)};
}

void AutoChoice::tell_trial(const Seen& seen, double at_s) {
  Trial& trial = *trial_;
  const double comparable =
      trial.work_s > 0 && seen.work_s > 0 ? seen.item_s * trial.work_s / seen.work_s : seen.item_s;
  (trial.challengers_turn ? trial.challenger : trial.incumbent).push_back(comparable);
  const double challenger = median(trial.challenger);
  const double incumbent = median(trial.incumbent);
  const double slowest_challenger = std::ranges::max(trial.challenger);
  const double fastest_incumbent = std::ranges::min(trial.incumbent);
  const bool clear = trial.work_s > 0 && trial.challengers_turn && trial.challenger.size() >= 2 &&
                     slowest_challenger < fastest_incumbent * (1 - clear_gain);
  const bool over = trial.challenger.size() == trial_phases || clear ||
                    (trial.challengers_turn && challenger > hopeless * incumbent);
  if (!over) {
    trial.challengers_turn = !trial.challengers_turn;
    return last_for(trial_phase_s, trial.challengers_turn ? challenger : incumbent);
  }
  // By chance alone, all four of one set are below all four of another in less than one of 35 trials.
  const bool apart = slowest_challenger < fastest_incumbent;
  const bool better = apart && challenger < incumbent * (1 - least_gain);
  decide(better ? PlanDecision::Kind::adopted : PlanDecision::Kind::rejected, at_s, trial.plan, challenger,
         incumbent);
  // With more threads, still more may be worth a trial. If the model was wrong, it is asked less often.
  phase_s_ = better ? first_phase_s : std::min(2 * phase_s_, longest_phase_s);
  if (better) incumbent_ = trial.plan;
  end_trial(better ? challenger : incumbent);
}

// `measured`: seconds per item of the plan in use from now on.
void AutoChoice::end_trial(double measured) {
  last_measured_ = measured;
  trial_.reset();
  last_for(trial_phase_s, measured);
}

// Tokens: as many as the model can use, in powers of two, starting with the first plan's.
std::vector<AutoPlan> AutoChoice::candidates(const Seen& seen) const {
  std::vector<AutoPlan> plans;
  for (const int threads : thread_counts(limits_.threads)) {
    AutoPlan plan{Strategy::stealing, threads, limits_.tokens};
    // A lower bound with unlimited tokens, because finding the number of tokens takes longer.
    const double least_s = model::total_demand(seen.pipeline) / threads * correction(plan);
    if (threads < incumbent_.threads && least_s > seen.item_s * (1 - least_gain)) continue;
    if (plan.tokens == 0) {
      const auto useful =
          std::bit_ceil(static_cast<unsigned>(model::sufficient_tokens(seen.pipeline, seen.tail, threads)));
      plan.tokens = std::clamp(static_cast<int>(std::min(useful, 1U << 20)), least_tokens * threads,
                               most_tokens_a_thread * threads);
    }
    plans.push_back(plan);
  }
  plans.push_back({Strategy::collapsed, limits_.threads, incumbent_.tokens});
  return plans;
}

double AutoChoice::predicted(const Seen& seen, const AutoPlan& plan) const {
  const auto strategy =
      plan.strategy == Strategy::collapsed ? model::Strategy::collapsed : model::Strategy::stealing;
  return model::item_seconds(
      seen.pipeline, seen.tail,
      model::make_plan(seen.pipeline, strategy, plan.threads, limits_.queue_depth, plan.tokens));
}

double AutoChoice::expected(const Seen& seen, const AutoPlan& plan) const {
  return predicted(seen, plan) * correction(plan);
}

// The model ignores the overhead of the runtime. A measured plan is corrected by its measurement. Others are
// corrected by the part they probably share with the current plan: all of it if only the tokens differ.
double AutoChoice::correction(const AutoPlan& plan) const {
  const auto ratio = [](const Known& one) { return one.measured / one.predicted; };
  const auto same_threads = [&](const AutoPlan& one) {
    return one.strategy == plan.strategy && one.threads == plan.threads;
  };
  if (const auto known = std::ranges::find(known_, plan, &Known::plan); known != known_.end())
    return ratio(*known);
  const auto used = std::ranges::find(known_, incumbent_, &Known::plan);
  if (used != known_.end() && same_threads(incumbent_)) return ratio(*used);
  if (const auto known = std::ranges::find_if(known_, same_threads, &Known::plan); known != known_.end())
    return ratio(*known);
  return used == known_.end() ? 1 : std::clamp(ratio(*used), 1.0, common_shortfall);
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
  if (adopted + rejected == 0) return "no other plan promises a gain of 3 %";
  if (adopted == 0) {
    const auto refused = static_cast<std::ptrdiff_t>(refused_.size());
    const auto plans = [](std::ptrdiff_t count) {
      return fmt::format("{} other plan{} that promised more", count, count == 1 ? "" : "s");
    };
    std::string text;
    if (rejected > refused) text = plans(rejected - refused) + " took longer or gained under 3 %";
    if (refused > 0)
      text += fmt::format("{}{} could not be run: {}", text.empty() ? "" : "; ", plans(refused), refusal_);
    return text;
  }
  const auto last = std::ranges::find(decisions_.rbegin(), decisions_.rend(), PlanDecision::Kind::adopted,
                                      &PlanDecision::kind);
  return fmt::format("measured {:.3g} times as fast as the plan before", last->against_s / last->item_s);
}

}  // namespace millrace::stream
