// Checks that asking and telling, including trials and switches, do not allocate. Counts calls of operator
// new in the whole test program. Empty under the sanitizers, because they replace operator new themselves.
#ifndef MILLRACE_SANITIZED

#include "millrace/tuning/tuner/simulated_stream_testing.h"

#include <atomic>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

namespace {
// Relaxed: a counter that orders nothing else.
std::atomic<std::int64_t> allocations{0};
}  // namespace

void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace millrace::tuning {
namespace {

TEST(Tuner, AllocatesNothingWhileItRuns) {
  testing::SimulatedWorkload workload({}, 0.002, 1);
  TunerOptions options{.prior = workload.prior(1)};
  auto tuner = Tuner::make(workload.space(), std::move(options));
  testing::SimulatedMachine machine({}, 1);
  int ran = -1;
  int announced = 0;
  int trials = 0;
  const std::int64_t before = allocations.load(std::memory_order_relaxed);
  while (machine.time() < 60) {
    if (machine.time() > 5 * (announced + 1)) {
      tuner->context_changed(machine.time());
      ++announced;
    }
    const Trial trial = tuner->ask();
    trials += trial.role == Role::challenger ? 1 : 0;
    const bool cold = trial.candidate != ran;
    const double seconds = machine.run(workload.seconds(trial.candidate) * (cold ? 1.3 : 1));
    tuner->tell({.candidate = trial.candidate, .time = machine.time(), .seconds = seconds, .trusted = !cold});
    ran = trial.candidate;
  }
  EXPECT_EQ(allocations.load(std::memory_order_relaxed), before);
  EXPECT_GT(trials, 100);
}

}  // namespace
}  // namespace millrace::tuning

#endif
