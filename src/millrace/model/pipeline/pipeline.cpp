#include "millrace/model/pipeline/pipeline.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace millrace::model {

std::string_view to_string(StageKind kind) {
  switch (kind) {
  case StageKind::serial:
    return "serial";
  case StageKind::ordered:
    return "ordered";
  case StageKind::parallel:
    return "parallel";
  }
  return "";
}

// Thirty years. Split items can multiply this, so the second limit only keeps the numbers finite.
constexpr double longest_service_seconds = 1e9;
constexpr double most_seconds_of_an_item = 1e100;

Status check(const Pipeline& pipeline) {
  if (pipeline.stages.empty())
    return usage_error("a pipeline without a stage; describe at least one, such as 'load serial 0.5ms'");
  if (pipeline.stages.size() > max_stages)
    return usage_error("{} stages, more than the {} allowed; use fewer", pipeline.stages.size(), max_stages);
  const Stage& first = pipeline.stages.front();
  if (first.is_parallel()) {
    return usage_error(
        "the first stage, '{}', is parallel, but items come into the pipeline one after another; "
        "make it serial",
        first.name);
  }
  if (first.batch != 1 || first.visits != 1)
    return usage_error("the first stage, '{}', makes the items: it has neither batch nor visits", first.name);
  for (const Stage& stage : pipeline.stages) {
    const double mean = stage.service.mean_seconds();
    if (!(mean >= 0 && mean <= longest_service_seconds))
      return usage_error("stage '{}': a service time of {} s; give 0 to {}", stage.name, mean,
                         longest_service_seconds);
    if (!(stage.outputs >= 0 && stage.outputs <= 1e6))
      return usage_error("stage '{}': {} outputs an item; give 0 to 1000000", stage.name, stage.outputs);
    if (!(stage.visits > 0 && stage.visits <= 1))
      return usage_error("stage '{}': visits {}; give more than 0 and at most 1", stage.name, stage.visits);
    if (stage.batch < 1 || stage.batch > 1'000'000)
      return usage_error("stage '{}': a batch of {}; give 1 to 1000000", stage.name, stage.batch);
    if (!(stage.slowdown >= 0 && stage.slowdown <= 1))
      return usage_error("stage '{}': a slowdown of {}; give 0 to 1 (at 1 a second core brings nothing)",
                         stage.name, stage.slowdown);
  }
  const double total = total_demand(pipeline);
  if (!(total > 0)) return usage_error("no stage takes any time; give at least one a service time above 0");
  if (!(total <= most_seconds_of_an_item))
    return usage_error("an item takes {} s in all stages; give them fewer outputs or shorter times", total);
  return {};
}

std::vector<double> demands(const Pipeline& pipeline) {
  std::vector<double> result;
  double items = 1;  // that reach the stage per source item
  for (const Stage& stage : pipeline.stages) {
    result.push_back(items * stage.visits * stage.service.mean_seconds());
    items *= stage.visits * stage.outputs + (1 - stage.visits);
  }
  return result;
}

double total_demand(const Pipeline& pipeline) {
  const auto all = demands(pipeline);
  return std::accumulate(all.begin(), all.end(), 0.0);
}

double calls_per_item(const Pipeline& pipeline) {
  double calls = 0;
  double items = 1;  // that reach the stage
  for (const Stage& stage : pipeline.stages) {
    calls += items * stage.visits;
    items *= stage.visits * stage.outputs + (1 - stage.visits);
  }
  return std::max(calls, items);  // an item that leaves the last stage costs as much as a call
}

int slowest_serial_stage(const Pipeline& pipeline) {
  const auto all = demands(pipeline);
  int slowest = -1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (pipeline.stages[i].is_parallel()) continue;
    if (slowest < 0 || all[i] > all[static_cast<std::size_t>(slowest)]) slowest = static_cast<int>(i);
  }
  return slowest;
}

}  // namespace millrace::model
