// The cost of a prediction: by formulas, and by simulation.
#include "millrace/model/pipeline/pipeline_text.h"
#include "millrace/model/prediction/prediction.h"
#include "millrace/model/simulation/simulation.h"

#include <benchmark/benchmark.h>

namespace {

using namespace millrace::model;

Pipeline six_stages() {
  return parse_pipeline_text(
             "load 0.5ms; seg 0.2ms; extract 0.1ms; vec 0.5ms; rank 6.2ms slowdown 0.007; out ordered 10us")
      .value();
}

Plan plan_on_64(const Pipeline& pipeline, std::int64_t strategy) {
  const auto chosen = static_cast<Strategy>(strategy);
  return make_plan(pipeline, chosen, 64, 20, chosen == Strategy::stealing ? 320 : 0);
}

void prediction_by_formulas(benchmark::State& state) {
  const Pipeline pipeline = six_stages();
  const Plan plan = plan_on_64(pipeline, state.range(0));
  while (state.KeepRunning())
    benchmark::DoNotOptimize(predict(pipeline, plan, 100'000));
}
BENCHMARK(prediction_by_formulas)->ArgName("strategy")->DenseRange(0, 3)->Unit(benchmark::kMillisecond);

void simulation_of_100000_items(benchmark::State& state) {
  const Pipeline pipeline = six_stages();
  const Plan plan = plan_on_64(pipeline, state.range(0));
  while (state.KeepRunning())
    benchmark::DoNotOptimize(simulate(pipeline, plan, {.items = 100'000}).value());
}
BENCHMARK(simulation_of_100000_items)->ArgName("strategy")->DenseRange(0, 3)->Unit(benchmark::kMillisecond);

}  // namespace
