#include "millrace/model/simulation/simulated_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace millrace::model {
namespace {

std::vector<int> ordered_stages(const Pipeline& pipeline) {
  std::vector<int> result;
  for (std::size_t i = 1; i < pipeline.stages.size(); ++i) {  // the source makes them in order
    if (pipeline.stages[i].kind == StageKind::ordered) result.push_back(static_cast<int>(i));
  }
  return result;
}

}  // namespace

Status check_simulation(const Pipeline& pipeline, const SimulationOptions& options) {
  if (Status possible = check(pipeline); !possible) return possible;
  if (options.items < 1 || options.items > 1'000'000'000)
    return usage_error("{} items to simulate; give 1 to 1000000000", options.items);
  const double calls = calls_per_item(pipeline);
  if (calls > most_simulated_calls)
    return usage_error(
        "one item of the source becomes {:.3g} calls of the stages, more than the {:.0e} that are "
        "simulated; give smaller outputs",
        calls, most_simulated_calls);
  if (calls * static_cast<double>(options.items) > most_simulated_calls)
    return usage_error(
        "{} items are {:.3g} calls of the stages, more than the {:.0e} that are simulated; give at "
        "most {:.0f} items, or smaller outputs",
        options.items, calls * static_cast<double>(options.items), most_simulated_calls,
        std::floor(most_simulated_calls / calls));
  return {};
}

SimulatedRun::SimulatedRun(const Pipeline& pipeline, Processors cores, const SimulationOptions& options,
                           std::size_t pools)
    : processors(std::move(cores)), random(options.seed),
      order(static_cast<int>(pipeline.stages.size()), ordered_stages(pipeline)), stages_(pipeline.stages),
      options_(options) {
  result.stages.resize(stages_.size());
  result.pools.resize(pools);
  if (pipeline.recorded) replay_.emplace(*pipeline.recorded);
}

int SimulatedRun::make_item(int token) {
  count_inside();
  if (replay_) replay_->begin(token, result.source_items);
  ++result.source_items;
  ++result.items_born;
  note_progress();
  const int item = order.append(token, processors.now_seconds());
  result.most_items_inside = std::max(result.most_items_inside, order.live());
  return item;
}

void SimulatedRun::note_progress() {
  if (tenth_at_ < 0 && 10 * result.source_items >= options_.items) tenth_at_ = processors.now_seconds();
  if (nine_tenths_at_ < 0 && 10 * result.source_items >= 9 * options_.items)
    nine_tenths_at_ = processors.now_seconds();
}

int SimulatedRun::split_off(int item) {
  count_inside();
  ++result.items_born;
  const int part = order.insert_after(item, processors.now_seconds());
  result.most_items_inside = std::max(result.most_items_inside, order.live());
  return part;
}

void SimulatedRun::remove(int item, bool out) {
  count_inside();
  sojourn_total_ += processors.now_seconds() - order.born_seconds(item);
  if (out) ++result.items_out;
  order.remove(item);
}

void SimulatedRun::count_inside() {
  item_seconds_ += static_cast<double>(order.live()) * (processors.now_seconds() - counted_until_);
  counted_until_ = processors.now_seconds();
}

bool SimulatedRun::bypasses(int index, int item) {
  if (replay_) return replay_->bypasses(order.token(item), index);
  const double visits = stage(index).visits;
  return visits < 1 && random.uniform() > visits;
}

double SimulatedRun::service(int index, int item) {
  const Stage& working = stage(index);
  // If threads share the cores, this one may not occupy another core.
  const int busy = std::min(processors.busy_cores() + 1, processors.cores());
  const double alone = replay_ ? replay_->service(order.token(item), index) : working.service.sample(random);
  const double seconds = alone * working.slowdown_factor(busy);
  StageTotals& totals = result.stages[static_cast<std::size_t>(index)];
  ++totals.items;
  totals.busy_seconds += seconds;
  return seconds;
}

int SimulatedRun::outputs(int index, int item) {
  if (replay_) return replay_->outputs(order.token(item), index);
  return static_cast<int>(random.whole(stage(index).outputs));
}

std::unexpected<Error> SimulatedRun::stopped_error() {
  return std::unexpected(Error{ErrorKind::interrupted, "the simulation was interrupted before its end"});
}

std::unexpected<Error> SimulatedRun::overfull_error() const {
  return usage_error(
      "more than {} items inside at once, with {} of {} from the source; give fewer tokens or smaller "
      "outputs",
      most_simulated_inside, result.source_items, options_.items);
}

SimulationResult SimulatedRun::finish() {
  count_inside();
  result.seconds = processors.now_seconds();
  result.busy_core_seconds = processors.busy_core_seconds();
  if (result.seconds > 0) result.mean_items_inside = item_seconds_ / result.seconds;
  if (result.items_born > 0) result.sojourn_seconds = sojourn_total_ / static_cast<double>(result.items_born);
  const double steady = nine_tenths_at_ - tenth_at_;
  result.steady_items_per_second =
      steady > 0 ? 0.8 * static_cast<double>(options_.items) / steady
                 : static_cast<double>(options_.items) / std::max(result.seconds, 1e-300);
  return std::move(result);
}

}  // namespace millrace::model
