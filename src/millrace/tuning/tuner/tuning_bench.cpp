// The cost of the tuner: in steady state, and for choosing and learning from a trial.
#include "millrace/tuning/space/simulated_workload_testing.h"
#include "millrace/tuning/tuner/tuner.h"

#include <benchmark/benchmark.h>

namespace millrace::tuning {
namespace {

using testing::SimulatedWorkload;

// Frames of 1 ms with nothing left to try: the cost of ask and tell.
void steady_state(benchmark::State& state) {
  const auto space = Space::make({{"only", {"one"}}}, [](auto) { return true; });
  auto tuner = Tuner::make(*space, {});
  double time = 0;
  for ([[maybe_unused]] auto _ : state) {
    const Trial trial = tuner->ask();
    time += 0.001;
    tuner->tell({.candidate = trial.candidate, .time = time, .seconds = 0.001});
  }
}
BENCHMARK(steady_state);

// A stream of 60 s with frames of 3 ms, including trials: time per frame.
void whole_stream(benchmark::State& state) {
  const SimulatedWorkload workload({.tiles = static_cast<int>(state.range(0))}, 0.003, 1);
  const auto prior = workload.prior(1);
  for ([[maybe_unused]] auto _ : state) {
    auto tuner = Tuner::make(workload.space(), {.prior = prior});
    testing::SimulatedMachine machine({}, 1);
    int ran = -1;
    std::int64_t frames = 0;
    for (; machine.time() < 60; ++frames) {
      const int c = tuner->ask().candidate;
      const double seconds = machine.run(workload.seconds(c) * (c != ran ? 1.3 : 1));
      tuner->tell({.candidate = c, .time = machine.time(), .seconds = seconds, .trusted = c == ran});
      ran = c;
    }
    state.counters["per_frame"] =
        benchmark::Counter(static_cast<double>(frames),
                           benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  }
  state.counters["candidates"] = workload.space().size();
}
BENCHMARK(whole_stream)->Arg(2)->Arg(4)->Arg(6)->Unit(benchmark::kMillisecond);

// An announced change: increases the uncertainty of all candidates.
void context_change(benchmark::State& state) {
  const SimulatedWorkload workload({.tiles = 6}, 0.003, 1);
  CostModel model(workload.space(), {});
  for (int i = 0; i < 100; ++i)
    model.observe(i * 9, 0.1, 0.05);
  for ([[maybe_unused]] auto _ : state)
    model.widen(0.01, 0, 1);
  state.counters["candidates"] = workload.space().size();
}
BENCHMARK(context_change)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace millrace::tuning
