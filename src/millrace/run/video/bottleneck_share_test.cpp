#include "millrace/run/video/bottleneck_share.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <gtest/gtest.h>

namespace millrace::run {
namespace {

// Three stages with a thread each and queues of two frames before and after the middle one, as in a run. The
// middle one is measured. Results: its waits, and when the last frame left.
struct Overlapped {
  double read = 0;
  double compute = 0;
  double write = 0;
  int burst = 1;  // the writer takes most frames in no time, and the time of the whole burst for the last one

  struct Result {
    double share = 1;
    double end = 0;
  };

  [[nodiscard]] Result run(int frames) const {
    constexpr int room = 2;
    std::array<double, 4096> taken_in{};   // when the loop took a frame
    std::array<double, 4096> taken_out{};  // when the writer took it
    BottleneckShare share;
    double reader = 0;
    double loop = 0;
    double writer = 0;
    for (int f = 0; f < frames; ++f) {
      if (f > room) reader = std::max(reader, taken_in[f - room - 1]);
      reader += read;
      const double begun = std::max(loop, reader);
      taken_in[f] = begun;
      const double computed = begun + compute;
      const double put = f > room ? std::max(computed, taken_out[f - room - 1]) : computed;
      share.add(compute, begun - loop + put - computed);
      loop = put;
      taken_out[f] = std::max(writer, put);
      writer = taken_out[f] + ((f + 1) % burst == 0 ? burst * write : 0);
    }
    return {share.value(), writer};
  }
};

TEST(BottleneckShare, AFreshRunCountsAsBoundByComputing) { EXPECT_EQ(BottleneckShare{}.value(), 1); }

TEST(BottleneckShare, WhatIsBelievedAtFirstGivesWayToWhatIsSeen) {
  BottleneckShare share(0);
  EXPECT_EQ(share.value(), 0);
  double before = 0;
  for (int batch = 0; batch < 40; ++batch) {
    share.add(0.01, 0);
    EXPECT_GT(share.value(), before);
    EXPECT_LT(share.value(), 1);
    before = share.value();
    EXPECT_EQ(share.is_seen(), before > 0.5);
  }
  EXPECT_GT(before, 0.99);
}

class Stages : public ::testing::TestWithParam<int> {};  // length of the writer's bursts in frames

// Compares with the same run with filters that are 10 % faster.
TEST_P(Stages, SayWhatFasterFiltersGainTheRun) {
  for (const double read : {0.2, 0.9, 1.0, 1.1, 3.0}) {
    for (const double write : {0.2, 0.8, 1.2, 2.0, 7.0}) {
      const Overlapped as_it_is{.read = read, .compute = 1, .write = write, .burst = GetParam()};
      Overlapped faster = as_it_is;
      faster.compute = 0.9;
      const Overlapped::Result result = as_it_is.run(400);
      const double gained = (result.end - faster.run(400).end) / (0.1 * 400);
      const double slowest = std::max(read, write);
      if (slowest <= 0.8) {
        EXPECT_GT(result.share, 0.5 * gained) << read << ", " << write;
      }
      if (slowest >= 1.2) {
        EXPECT_LT(gained, 0.1) << read << ", " << write;
      }
      if (slowest >= 2) {
        EXPECT_LT(result.share, 0.1) << read << ", " << write;
      }
      if (slowest >= 1.1) {
        EXPECT_LT(result.share, 0.85) << read << ", " << write;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Bursts, Stages, ::testing::Values(1, 4));

TEST(BottleneckShare, OfARunThatHasJustBegunCountsLittleThatItWaited) {
  BottleneckShare share;
  double before = share.value();
  for (int batch = 0; batch < 3; ++batch) {
    share.add(0.01, 0.02);
    EXPECT_LT(share.value(), before);
    EXPECT_GT(share.value(), 0.4);
    before = share.value();
  }
}

TEST(BottleneckShare, OfARunThatHasWaitedFromItsFirstTurnOnNothingIsLeftToGain) {
  BottleneckShare share;
  for (int batch = 0; batch < 60; ++batch)
    share.add(0.01, 0.05);
  EXPECT_LT(share.value(), 1e-6);
}

TEST(BottleneckShare, FollowsARunThatChangesWithinSomeDozenFrames) {
  BottleneckShare share;
  for (int batch = 0; batch < 1000; ++batch)
    share.add(0.01, 0);
  EXPECT_EQ(share.value(), 1);
  for (int batch = 0; batch < 50; ++batch)
    share.add(0.01, 0.05);
  EXPECT_EQ(share.value(), 0);
  for (int batch = 0; batch < 100; ++batch)
    share.add(0.01, 0);
  EXPECT_GT(share.value(), 0.9);
}

TEST(BottleneckShare, StaysAShareWhateverTheTimes) {
  for (const double computing : {0.0, 1e-9, 1.0, 1e6}) {
    for (const double waiting : {0.0, 1e-9, 1.0, 1e6}) {
      BottleneckShare share;
      share.add(computing, waiting);
      EXPECT_GE(share.value(), 0);
      EXPECT_LE(share.value(), 1);
      EXPECT_FALSE(std::isnan(share.value()));
    }
  }
}

}  // namespace
}  // namespace millrace::run
