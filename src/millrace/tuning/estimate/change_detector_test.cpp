#include "millrace/tuning/estimate/change_detector.h"
#include "millrace/tuning/space/simulated_workload_testing.h"

#include <gtest/gtest.h>

namespace millrace::tuning {
namespace {

using testing::Noise;
using testing::SimulatedMachine;

// Seconds from the step to the alarm. Frames take `frame` seconds, and `factor` times as long after 5 s.
double delay(double frame, double factor, std::uint64_t seed) {
  SimulatedMachine machine({.drift = 0.02, .burst_every = 1e9}, seed);
  ChangeDetector detector;
  constexpr double step = 5;
  while (machine.time() < step + 20) {
    const double seconds = machine.run(frame * (machine.time() < step ? 1 : factor));
    if (detector.add(machine.time(), std::log(seconds)) && machine.time() > step)
      return machine.time() - step;
  }
  return machine.time() - step;
}

class ChangeDetectorTest : public ::testing::TestWithParam<double> {};

TEST_P(ChangeDetectorTest, FindsAStepByAQuarterWithinASecondInEitherDirection) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_LT(delay(GetParam(), 1.25, seed), 1.0);
    EXPECT_LT(delay(GetParam(), 1 / 1.25, seed), 1.0);
  }
}

TEST_P(ChangeDetectorTest, StaysQuietUnderNoiseAndSingleBursts) {
  int alarms = 0;
  constexpr int minutes = 5;
  for (std::uint64_t seed = 1; seed <= minutes; ++seed) {
    SimulatedMachine machine({.sigma = 0.08, .drift = 0.02, .burst_seconds = 0.02}, seed);
    ChangeDetector detector;
    while (machine.time() < 60) {
      const double seconds = machine.run(GetParam());
      alarms += detector.add(machine.time(), std::log(seconds)) ? 1 : 0;
    }
  }
  EXPECT_LE(alarms, 4 * minutes);
}

INSTANTIATE_TEST_SUITE_P(FrameSeconds, ChangeDetectorTest, ::testing::Values(0.0003, 0.001, 0.005, 0.02));

TEST(ChangeDetector, SaysByHowMuch) {
  ChangeDetector detector;
  double time = 0;
  const auto run = [&](double log_cost) { return detector.add(time += 0.01, log_cost); };
  for (int i = 0; i < 100; ++i)
    ASSERT_FALSE(run(0));
  int frames = 0;
  while (!run(std::log(1.5)))
    ASSERT_LT(++frames, 50);
  EXPECT_NEAR(detector.last_change(), 1.5, 0.1);
}

}  // namespace
}  // namespace millrace::tuning
