#include "millrace/run/video/frame_batch_size.h"

#include <algorithm>
#include <cstdint>

#include <gtest/gtest.h>

namespace millrace::run {
namespace {

constexpr std::size_t cif_bytes = 352 * 288 * 3 / 2;
constexpr std::size_t full_hd_bytes = 1920 * 1080 * 3 / 2;

TEST(FrameBatchSize, IsOneRoundUntilItIsKnownHowLongFramesTake) {
  FrameBatchSize batch(cif_bytes);
  EXPECT_EQ(batch.frames(2), 2);
  batch.add(2, 1e-4);
  EXPECT_GT(batch.frames(2), 2);
  batch.forget();
  EXPECT_EQ(batch.frames(2), 2);
}

TEST(FrameBatchSize, IsOneFrameWhereAllThreadsShareOne) {
  FrameBatchSize batch(100);
  batch.add(1, 1e-9);
  EXPECT_EQ(batch.frames(1), 1);
}

TEST(FrameBatchSize, IsWholeRoundsTheMoreTheSmallerFramesAreButOfNoMoreThanItsMost) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{24}, cif_bytes, full_hd_bytes, std::size_t{1} << 40}) {
    for (const int side_by_side : {2, 3, 16, 200}) {
      int before = 1 << 20;
      for (double seconds = 1e-9; seconds < 10; seconds *= 1.7) {
        FrameBatchSize batch(bytes);
        batch.add(side_by_side, seconds * side_by_side);
        const int frames = batch.frames(side_by_side);
        EXPECT_EQ(frames % side_by_side, 0);
        EXPECT_GE(frames, side_by_side);
        EXPECT_LE(frames, FrameBatchSize::most_frames(side_by_side, bytes));
        EXPECT_LE(frames, before);
        before = frames;
      }
      EXPECT_EQ(before, side_by_side) << "frames of seconds need no company";
    }
  }
}

TEST(FrameBatchSize, IsOneRoundOfFramesThatAreLarge) {
  FrameBatchSize batch(full_hd_bytes);
  batch.add(2, 1e-6);
  EXPECT_EQ(batch.frames(2), 2);
  EXPECT_EQ(FrameBatchSize::most_frames(2, full_hd_bytes), 2);
  for (const int side_by_side : {2, 3, 8, 16})
    EXPECT_GE(FrameBatchSize::most_frames(side_by_side, cif_bytes), 4 * side_by_side);
  EXPECT_EQ(FrameBatchSize::most_frames(300, cif_bytes), 300);
}

// The memory of a batch is touched for the first time in a short run, which costs time.
TEST(FrameBatchSize, IsASmallPartOfAShortRun) {
  for (const std::int64_t total : {0, 1, 2, 30, 60, 100, 360, 100'000}) {
    FrameBatchSize batch(cif_bytes, total);
    FrameBatchSize without(cif_bytes);
    for (FrameBatchSize* one : {&batch, &without})
      one->add(2, 1e-6);
    EXPECT_LE(batch.frames(2), std::max<std::int64_t>(2, total / 12)) << total;
    EXPECT_EQ(batch.frames(2) == without.frames(2), total >= 12 * without.frames(2)) << total;
    EXPECT_EQ(batch.frames(2) % 2, 0);
  }
}

TEST(FrameBatchSize, FollowsFramesThatBecomeSlower) {
  FrameBatchSize batch(cif_bytes);
  batch.add(2, 1e-4);
  const int fast = batch.frames(2);
  for (int i = 0; i < 50; ++i)
    batch.add(2, 1e-2);
  EXPECT_LT(batch.frames(2), fast);
}

}  // namespace
}  // namespace millrace::run
