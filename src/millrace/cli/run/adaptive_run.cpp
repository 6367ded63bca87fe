#include "millrace/cli/run/adaptive_run.h"

#include "millrace/base/error_line.h"
#include "millrace/image/pipeline/parameter_timeline.h"
#include "millrace/tuning/record/decision_report.h"

#include <fmt/format.h>

namespace millrace::cli {
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

// The graph without its numbers, which parameter_class() stands for.
std::string graph_text(const image::Pipeline& pipeline) {
  std::string text;
  for (const image::Node& node : pipeline.nodes) {
    if (!text.empty()) text += ' ';
    text += node.filter->name;
    for (int input : node.inputs)
      text += fmt::format(":{}", input);
  }
  return text;
}

// Where what was learnt on one machine holds: the same processor, seen the same way.
std::string machine_text(const machine::MachineReport& machine) {
  const auto packages = machine.topology.packages();
  return fmt::format("{}, {} PUs, {}", packages.empty() ? "" : packages.front().model,
                     machine.topology.cpus().count(), machine::name_of(machine.isa));
}

nlohmann::ordered_json decisions_json(const image::AdaptiveScheduler& scheduler, bool from_profile,
                                      const tuning::Objective& objective, std::int64_t switches) {
  const tuning::Tuner& tuner = scheduler.tuner();
  const tuning::Space& space = scheduler.space().space();
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  for (const tuning::Event& event : tuner.record().events())
    events.emplace_back(tuning::to_json(event, space, tuner.start_time()));
  return {{"objective", objective_text(objective)},
          {"from_profile", from_profile},
          {"candidates", space.size()},
          {"incumbent", space.name_of(tuner.incumbent())},
          {"why", tuner.explain()},
          {"trials", tuner.record().count(tuning::EventKind::trial)},
          {"switches", switches},
          {"seconds_lost_to_trials", tuner.seconds_lost()},
          {"seconds_deciding", scheduler.overhead_seconds()},
          {"events", events}};
}

std::string decisions_text(const image::AdaptiveScheduler& scheduler) {
  const tuning::Tuner& tuner = scheduler.tuner();
  const tuning::Space& space = scheduler.space().space();
  std::string text = fmt::format("{} candidates\n", space.size());
  for (const tuning::Event& event : tuner.record().events())
    text += tuning::describe(event, space, tuner.start_time()) + '\n';
  return text + tuner.explain() + '\n';
}

}  // namespace

tuning::ProfileKey AdaptiveRun::key(const image::Pipeline& pipeline) const {
  const RunOptions& options = context_->options;
  tuning::ProfileKey key{{"work", "run"},
                         {"graph", graph_text(pipeline)},
                         {"parameters", image::parameter_class(pipeline)},
                         {"planes", std::string(image::name_of(context_->planes))},
                         {"frames", video::to_string(layout_.input)},
                         {"threads", fmt::format("{}", threads_)},
                         {"objective", objective_text(objective_)},
                         {"machine", machine_text(context_->machine)}};
  // What the user fixed belongs to the question.
  for (const auto& [name, word] :
       {std::pair{"fusion", options.fusion}, {"affinity", options.affinity}, {"isa", options.isa}}) {
    if (!word.empty()) key.emplace(name, word);
  }
  if (options.frames_in_flight > 0)
    key.emplace("frames in flight", fmt::format("{}", options.frames_in_flight));
  return key;
}

Result<AdaptiveRun> AdaptiveRun::start(const RunContext& context, const image::FrameLayout& layout) {
  auto options = adaptive_options_of(context.options, context.machine.usable.worker_limit);
  if (!options) return std::unexpected(options.error());
  AdaptiveRun run(context, layout);
  run.objective_ = options->objective;
  run.threads_ = options->freedom.threads.value_or(options->freedom.max_threads);
  if (!context.options.no_profile) {
    if (const auto path = tuning::default_profile_path()) {
      run.store_ = tuning::ProfileStore::open(*path);
      if (!run.store_->warning().empty() && !context.options.quiet)
        print_error("millrace", run.store_->warning());
      if (auto stored = run.store_->load(run.key(context.pipeline))) options->profile = *stored;
      run.from_profile_ = options->profile.has_value();
    }
  }
  auto scheduler =
      image::AdaptiveScheduler::make(context.executor, context.library, layout, std::move(*options));
  if (!scheduler) return std::unexpected(scheduler.error());
  run.scheduler_ = std::move(*scheduler);
  return run;
}

void AdaptiveRun::finish(const image::Pipeline& pipeline, RunReport& report) {
  report.decisions = decisions_json(*scheduler_, from_profile_, objective_, context_->executor.switches());
  if (context_->options.explain) report.explanation = decisions_text(*scheduler_);
  report.schedule = scheduler_->incumbent();
  report.from_profile = from_profile_;
  // Without a trial nothing was learnt, and what was learnt unbound does not hold for the affinity asked for.
  const bool as_asked = context_->options.affinity.empty() || context_->executor.refused().empty();
  if (store_ && as_asked && scheduler_->tuner().record().count(tuning::EventKind::trial) > 0) {
    if (Status saved = store_->save(key(pipeline), scheduler_->profile()); !saved && !context_->options.quiet)
      print_error("millrace", saved.error().message);
  }
}

}  // namespace millrace::cli
