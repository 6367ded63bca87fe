#include "millrace/tuning/trial/trial_value.h"

#include <random>

#include <gtest/gtest.h>

namespace millrace::tuning {
namespace {

TrialValue any_value(std::mt19937_64& random) {
  std::uniform_real_distribution<double> share(0, 1);
  return {.improvement = 0.3 * share(random),
          .frame_seconds = 0.02 * share(random),
          .frames_left = 4000 * share(random),
          .frames_until = 100 * share(random),
          .bottleneck_share = 0.5 + 0.5 * share(random),
          .loss = share(random)};
}

TEST(TrialValue, NeverPaysWhereNothingIsLeftToGain) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    TrialValue value = any_value(random);
    value.loss = i % 2 == 0 ? 0 : value.loss;
    TrialValue over = value;
    over.frames_left = over.frames_until;
    EXPECT_FALSE(over.pays());
    over.frames_left = 0;
    EXPECT_FALSE(over.pays());
    TrialValue no_better = value;
    no_better.improvement = 0;
    EXPECT_FALSE(no_better.pays());
    TrialValue unbound = value;
    unbound.bottleneck_share = 0;
    EXPECT_FALSE(unbound.pays());
  }
}

TEST(TrialValue, WhatPaysStillPaysWithMoreFramesLeftAMoreCertainGainOrALowerPrice) {
  std::mt19937_64 random(2);
  int paying = 0;
  for (int i = 0; i < 1000; ++i) {
    const TrialValue value = any_value(random);
    if (!value.pays()) continue;
    ++paying;
    TrialValue more = value;
    more.frames_left *= 2;
    EXPECT_TRUE(more.pays());
    more = value;
    more.improvement *= 1.5;
    EXPECT_TRUE(more.pays());
    more = value;
    more.loss /= 2;
    EXPECT_TRUE(more.pays());
  }
  EXPECT_GT(paying, 100);
  EXPECT_LT(paying, 900);
}

TEST(TrialValue, WithFramesEnoughEveryGainPaysAnyPrice) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    TrialValue value = any_value(random);
    value.improvement += 1e-4;
    value.frame_seconds += 1e-5;
    value.frames_left = 1e12;
    EXPECT_TRUE(value.pays());
  }
}

TEST(TrialValue, IsWorthTheShareOfItsGainThatTheStreamGets) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 100; ++i) {
    TrialValue value = any_value(random);
    value.bottleneck_share = 1;
    TrialValue half = value;
    half.bottleneck_share = 0.5;
    EXPECT_DOUBLE_EQ(half.gain(), value.gain() / 2);
  }
}

// Saving a tenth of a 2 ms frame in the 80 frames after a race of 20 (100 are left) gains 16 ms.
TEST(TrialValue, CountsTheFramesBehindTheRaceOnly) {
  const TrialValue value{
      .improvement = 0.1, .frame_seconds = 0.002, .frames_left = 100, .frames_until = 20, .loss = 0.0161};
  EXPECT_NEAR(value.gain(), 0.016, 1e-12);
  EXPECT_FALSE(value.pays());
}

}  // namespace
}  // namespace millrace::tuning
