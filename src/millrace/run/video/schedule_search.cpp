#include "millrace/run/video/schedule_search.h"

#include "millrace/base/numbers/counted.h"
#include "millrace/image/pipeline/parameter_timeline.h"
#include "millrace/machine/report/processor_key.h"
#include "millrace/run/video/bottleneck_share.h"
#include "millrace/tuning/record/decision_report.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace millrace::run {
namespace {

std::string objective_text(const tuning::Objective& objective) {
  switch (objective.aim) {
  case tuning::Aim::throughput:
    return "throughput";
  case tuning::Aim::latency:
    return "latency";
  case tuning::Aim::deadline:
    return fmt::format("deadline {} ms", objective.deadline * 1e3);
  }
  return "throughput";
}

// The graph without its numbers, which parameter_class() covers.
std::string graph_text(const image::Pipeline& pipeline) {
  std::string text;
  for (const image::Node& node : pipeline.nodes) {
    if (!text.empty()) text += ' ';
    text += node.filter->identity();
    for (int input : node.inputs)
      text += fmt::format(":{}", input);
  }
  return text;
}

// For a stream without a search.
tuning::Reason why_begun_with(const image::AdaptiveScheduler& scheduler) {
  return scheduler.uses_profile() ? tuning::Reason::remembered : tuning::Reason::prior;
}

constexpr std::string_view encoder_began = "the run ended before it showed what faster ones gain, as an "
                                           "encoder takes its first frames before anyone waits "
                                           "for it";

constexpr std::string_view run_waited =
    "the run waited for its input or output, and would have gained little by faster filters";

std::string why_no_search(const image::AdaptiveScheduler& scheduler, double bottleneck_share) {
  const std::string runs = fmt::format("{} runs since the start: it {}", to_string(scheduler.incumbent()),
                                       text_of(why_begun_with(scheduler)));
  if (scheduler.held()) return fmt::format("{}; nothing else has been measured: {}", runs, encoder_began);
  if (tuning::waits_mostly(bottleneck_share))
    return fmt::format("{}; nothing else has been measured: {}", runs, run_waited);
  return runs + "; nothing else has been measured: listing other candidates takes longer than a better one "
                "would have saved";
}

// `start`: what times count from.
std::string why(const image::AdaptiveScheduler& scheduler, double bottleneck_share, double start) {
  if (!scheduler.searches()) return why_no_search(scheduler, bottleneck_share);
  const std::string explained = scheduler.tuner().explain(start);
  if (scheduler.held()) return fmt::format("{}; {}", explained, encoder_began);
  const bool tried = scheduler.tuner().record().count(tuning::EventKind::trial) > 0;
  return !tried && tuning::waits_mostly(bottleneck_share) ? fmt::format("{}: {}", explained, run_waited)
                                                          : explained;
}

RunDecisions decisions_of(const image::AdaptiveScheduler& scheduler, const tuning::Objective& objective,
                          std::int64_t switches, double bottleneck_share, double start) {
  RunDecisions decisions{.objective = objective_text(objective),
                         .from_profile = scheduler.uses_profile(),
                         .space = std::nullopt,
                         .incumbent = {},
                         .why = why(scheduler, bottleneck_share, start),
                         .switches = switches,
                         .bottleneck_share = std::nullopt,
                         .switching = scheduler.switching_seconds(),
                         .deciding = scheduler.overhead_seconds()};
  if (!scheduler.held()) decisions.bottleneck_share = bottleneck_share;
  if (!scheduler.searches()) {
    decisions.incumbent = scheduler.incumbent_name();
    decisions.chosen = text_of(why_begun_with(scheduler));
    return decisions;
  }
  const tuning::Tuner& tuner = scheduler.tuner();
  decisions.space = scheduler.space().space();
  decisions.incumbent = decisions.space->name_of(tuner.incumbent());
  decisions.trials = tuner.record().count(tuning::EventKind::trial);
  decisions.lost_to_trials = tuner.seconds_lost();
  decisions.events = tuner.record().events();
  decisions.events_left_out = tuner.record().left_out();
  decisions.begin = start;
  decisions.starts_at = std::max(0.0, tuner.start_time() - start);
  return decisions;
}

std::string decisions_text(const image::AdaptiveScheduler& scheduler, const std::string& why, double start) {
  if (!scheduler.searches()) return why + '\n';
  const tuning::Tuner& tuner = scheduler.tuner();
  const tuning::Space& space = scheduler.space().space();
  std::string text = counted(space.size(), "candidate") + '\n';
  if (const std::int64_t earlier = tuner.record().left_out(); earlier > 0)
    text += fmt::format("{} left out\n",
                        earlier == 1 ? "1 earlier event is" : counted(earlier, "earlier event") + " are");
  for (const tuning::Event& event : tuner.record().events())
    text += tuning::describe(event, space, start) + '\n';
  return text + why + '\n';
}

}  // namespace

ScheduleSearch::ScheduleSearch(ExecutionContext& context, image::Executor& executor,
                               const SearchOptions& options, image::Planes planes,
                               const image::FrameLayout& layout)
    : machine_(&context.machine()), executor_(&executor), fixed_(options.fixed), planes_(planes),
      layout_(layout), objective_(options.adaptive.objective),
      threads_(options.adaptive.freedom.threads.value_or(options.adaptive.freedom.max_threads)) {}

tuning::ProfileKey ScheduleSearch::key(const image::Pipeline& pipeline,
                                       const std::map<std::string, std::string>& fixed) const {
  tuning::ProfileKey key{{"work", "run"},
                         {"graph", graph_text(pipeline)},
                         {"parameters", image::parameter_class(pipeline)},
                         {"planes", std::string(image::name_of(planes_))},
                         {"frames", video::to_string(layout_.input)},
                         {"threads", fmt::format("{}", threads_)},
                         {"objective", objective_text(objective_)},
                         {"machine", machine::processor_key(*machine_)}};
  if (layout_.second) key.emplace("second", video::to_string(*layout_.second));
  if (!video::is_of_codes(layout_.output)) key.emplace("makes", video::to_string(layout_.output));
  key.insert(fixed.begin(), fixed.end());
  return key;
}

std::optional<tuning::Profile> ScheduleSearch::load(const SearchOptions& options,
                                                    const image::Pipeline& pipeline) {
  std::vector<std::map<std::string, std::string>> questions{options.fixed};
  questions.insert(questions.end(), options.related.begin(), options.related.end());
  for (const auto& question : questions) {
    if (!store_) break;
    auto stored = store_->load(key(pipeline, question));
    if (!stored) {
      warnings_.push_back(stored.error().message + "; going on without");
      break;
    }
    if (!*stored) continue;
    if (shared_ && !shared_->load(key(pipeline, question))) share(key(pipeline, question), **stored);
    return std::move(*stored);
  }
  for (const auto& question : questions)
    if (auto theirs = shared_ ? shared_->load(key(pipeline, question)) : std::nullopt) return theirs;
  return std::nullopt;
}

void ScheduleSearch::share(const tuning::ProfileKey& key, const tuning::Profile& profile) {
  if (!shared_) return;
  if (Status saved = shared_->save(key, profile); !saved)
    warnings_.push_back(saved.error().message + "; what this run has learnt is not shared");
}

Result<ScheduleSearch> ScheduleSearch::start(ExecutionContext& context, image::Executor& executor,
                                             const SearchOptions& options, const image::Pipeline& pipeline,
                                             image::Planes planes, const image::FrameLayout& layout) {
  ScheduleSearch search(context, executor, options, planes, layout);
  image::AdaptiveOptions adaptive = options.adaptive;
  if (options.profiles) search.store_ = tuning::ProfileStore::open(*options.profiles);
  if (options.shared_profiles) search.shared_.emplace(*options.shared_profiles);
  adaptive.profile = search.load(options, pipeline);
  auto scheduler = image::AdaptiveScheduler::make(executor, context.library(), layout, std::move(adaptive));
  if (!scheduler) return std::unexpected(scheduler.error());
  search.scheduler_ = std::move(*scheduler);
  return search;
}

void ScheduleSearch::finish(const image::Pipeline& pipeline, std::optional<double> start, RunRecord& record) {
  record.from_profile = scheduler_->uses_profile();
  // For the whole run, as in the summary.
  const double bottleneck_share = gained_share(executor_->compute_seconds() + executor_->waited_seconds(),
                                               record.input_wait_seconds + record.output_wait_seconds);
  const double origin = start ? *start : scheduler_->searches() ? scheduler_->tuner().start_time() : 0;
  record.decisions = decisions_of(*scheduler_, objective_, executor_->switches(), bottleneck_share, origin);
  record.explanation = decisions_text(*scheduler_, record.decisions->why, origin);
  record.schedule = scheduler_->incumbent();
  // Without a trial there is nothing to save. What was learned unpinned does not hold for the requested
  // affinity.
  const bool as_asked = !fixed_.contains("affinity") || executor_->refused().empty();
  if ((store_ || shared_) && as_asked && scheduler_->searches() &&
      scheduler_->tuner().record().count(tuning::EventKind::trial) > 0) {
    const tuning::ProfileKey question = key(pipeline, fixed_);
    const tuning::Profile learnt = scheduler_->profile();
    if (Status saved = store_ ? store_->save(question, learnt) : Status(); !saved)
      warnings_.push_back(saved.error().message + "; what this run has learnt is not kept");
    share(question, learnt);
  }
  if (store_ && !store_->warning().empty()) record.warnings.push_back(store_->warning());
  record.warnings.insert(record.warnings.end(), warnings_.begin(), warnings_.end());
}

}  // namespace millrace::run
