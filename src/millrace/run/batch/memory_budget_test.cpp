#include "millrace/run/batch/memory_budget.h"
#include "millrace/run/batch/run_memory.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::run {
namespace {

TEST(MemoryBudget, IsNeverExceededByMoreThanOne) {
  MemoryBudget budget(100);
  std::atomic<std::int64_t> taken = 0;
  std::atomic<std::int64_t> holders = 0;
  {
    std::vector<std::jthread> threads;
    for (const std::uint64_t bytes : {40U, 60U, 100U, 150U, 1U, 99U}) {
      threads.emplace_back([&, bytes] {
        for (int turn = 0; turn < 200; ++turn) {
          ASSERT_TRUE(budget.take(bytes, {}));
          const std::int64_t others = ++holders - 1;
          const std::int64_t now = taken += static_cast<std::int64_t>(bytes);
          EXPECT_TRUE(now <= 100 || others == 0) << now;
          taken -= static_cast<std::int64_t>(bytes);
          --holders;
          budget.give_back(bytes);
        }
      });
    }
  }
  EXPECT_EQ(budget.left(), 100U);
}

TEST(MemoryBudget, AStopEndsTheWait) {
  MemoryBudget budget(10);
  ASSERT_TRUE(budget.take(10, {}));
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  const Status taken = budget.take(1, stop.get_token());
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().kind, ErrorKind::interrupted);
  EXPECT_EQ(budget.left(), 0U);
}

TEST(RunMemory, GrowsWithFramesAndThreadsOfCodecs) {
  const video::FrameFormat hd = {.width = 1920, .height = 1080};
  RunMemory run{.input = hd, .output = hd};
  const auto to_null = run_memory_bytes(run);
  EXPECT_GT(to_null, 8 * video::frame_bytes(hd));
  run.encoder_threads = 2;
  const auto encoded = run_memory_bytes(run);
  EXPECT_GT(encoded, to_null);
  run.encoder_threads = 16;
  EXPECT_GT(run_memory_bytes(run), encoded + 14 * video::frame_bytes(hd));
  run.frames_in_flight = 4;
  // Three more frames before and after, and the intermediates between their stages.
  const auto side_by_side = run_memory_bytes(run);
  run.frames_in_flight = 1;
  EXPECT_GT(side_by_side, run_memory_bytes(run) + 2 * 3 * video::frame_bytes(hd));
  run.output = {.width = 3840, .height = 2160};
  EXPECT_GT(run_memory_bytes(run), side_by_side + 14 * video::frame_bytes(run.output))
      << "frames made larger";
  run.input = run.output = {.width = 352, .height = 288};
  EXPECT_LT(run_memory_bytes(run), encoded);
}

}  // namespace
}  // namespace millrace::run
