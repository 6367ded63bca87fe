#include "millrace/pool/contiguous_part.h"
#include "millrace/pool/for_range.h"
#include "millrace/pool/fresh_threads.h"
#include "millrace/pool/serial_team.h"
#include "millrace/pool/worker_pool.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::pool {
namespace {

using testing::HasSubstr;

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

struct Piece {
  std::int64_t begin;
  std::int64_t end;
  int rank;
};

// Runs the loop and returns its pieces in range order.
std::vector<Piece> pieces_of(Team& team, std::int64_t begin, std::int64_t end, Partition partition,
                             std::int64_t grain, int share = 2) {
  std::mutex mutex;
  std::vector<Piece> pieces;
  const auto keep = [&](auto b, auto e, int rank) {
    const std::scoped_lock lock(mutex);
    pieces.push_back({b, e, rank});
  };
  const Status status = for_range(team, begin, end, partition, grain, keep, share);
  EXPECT_TRUE(status) << status.error().message;
  std::ranges::sort(pieces, {}, &Piece::begin);
  return pieces;
}

// Pool size (0: three fresh threads) and partition.
using Case = std::tuple<int, Partition>;

constexpr std::int64_t lengths[] = {0, 1, 2, 3, 7, 1000};
constexpr std::int64_t grains[] = {1, 3, 64, 5000};

class ForRangeTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const int workers = std::get<0>(GetParam());
    if (workers == 0) {
      team_ = std::make_unique<FreshThreads>(3);
      return;
    }
    auto pool = WorkerPool::create(workers);
    ASSERT_TRUE(pool) << pool.error().message;
    pool_ = std::move(*pool);
    team_ = std::make_unique<PoolTeam>(pool_->team());
  }

  std::unique_ptr<WorkerPool> pool_;
  std::unique_ptr<Team> team_;
};

TEST_P(ForRangeTest, covers_every_element_exactly_once_with_non_empty_pieces) {
  const Partition partition = std::get<1>(GetParam());
  for (const std::int64_t length : lengths)
    for (const std::int64_t grain : grains)
      for (const std::int64_t begin : {0, -5, 1'000'000'007}) {
        std::int64_t next = begin;
        for (const Piece& piece : pieces_of(*team_, begin, begin + length, partition, grain)) {
          EXPECT_EQ(piece.begin, next);
          EXPECT_LT(piece.begin, piece.end);
          EXPECT_GE(piece.rank, 0);
          EXPECT_LT(piece.rank, team_->size());
          if (partition != Partition::static_ && piece.end != begin + length) {
            EXPECT_GE(piece.end - piece.begin, grain);
          }
          next = piece.end;
        }
        EXPECT_EQ(next, begin + length);
      }
}

TEST_P(ForRangeTest, uses_the_last_ranks_and_no_more_than_there_are_grains) {
  for (const std::int64_t length : lengths)
    for (const std::int64_t grain : grains)
      for (const Piece& piece : pieces_of(*team_, 0, length, std::get<1>(GetParam()), grain))
        EXPECT_GE(piece.rank, team_->size() - (length + grain - 1) / grain);
}

TEST_P(ForRangeTest, calls_of_one_rank_are_on_one_thread) {
  for (const std::int64_t length : lengths) {
    std::vector<std::thread::id> threads(static_cast<std::size_t>(team_->size()));
    std::atomic<int> strangers = 0;
    ASSERT_TRUE(for_range(*team_, 0, length, std::get<1>(GetParam()), 1, [&](auto, auto, int rank) {
      auto& thread = threads[static_cast<std::size_t>(rank)];
      if (thread == std::thread::id()) thread = std::this_thread::get_id();
      strangers += thread == std::this_thread::get_id() ? 0 : 1;
    }));
    EXPECT_EQ(strangers, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(AllPartitions, ForRangeTest,
                         testing::Combine(testing::Values(0, 1, 2, 3, 4, 8),
                                          testing::Values(Partition::static_, Partition::dynamic,
                                                          Partition::guided)));

TEST(ForRangeStaticTest, segments_are_even_and_in_the_order_of_ranks_with_the_leader_last) {
  for (const int workers : {1, 2, 3, 5}) {
    auto pool = WorkerPool::create(workers);
    ASSERT_TRUE(pool);
    PoolTeam team = (*pool)->team();
    for (const std::int64_t length : {1, 2, 4, 5, 7, 1000}) {
      const auto pieces = pieces_of(team, 0, length, Partition::static_, 1);
      ASSERT_EQ(pieces.size(), static_cast<std::size_t>(std::min<std::int64_t>(workers, length)));
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        EXPECT_EQ(pieces[i].rank, workers - static_cast<int>(pieces.size() - i));
        EXPECT_LE(std::abs((pieces[i].end - pieces[i].begin) - (pieces[0].end - pieces[0].begin)), 1);
      }
      EXPECT_EQ(pieces.back().rank, workers - 1);
    }
  }
}

TEST(ForRangeGuidedTest, chunks_shrink_from_half_an_even_share_down_to_the_grain) {
  SerialTeam team;
  const auto pieces = pieces_of(team, 0, 1000, Partition::guided, 10);
  EXPECT_EQ(pieces.front().end - pieces.front().begin, 500);
  for (std::size_t i = 1; i < pieces.size(); ++i)
    EXPECT_LE(pieces[i].end - pieces[i].begin, pieces[i - 1].end - pieces[i - 1].begin);
  EXPECT_LT(pieces.size(), 20U);
}

TEST(ForRangeGuidedTest, chunks_are_as_small_a_part_of_an_even_share_as_is_asked_for) {
  SerialTeam team;
  for (const int share : {1, 4, 5, 100}) {
    const auto pieces = pieces_of(team, 0, 1000, Partition::guided, 10, share);
    EXPECT_EQ(pieces.front().end - pieces.front().begin, std::max(1000 / share, 10));
    EXPECT_EQ(pieces.back().end, 1000);
  }
  EXPECT_EQ(
      for_range(team, 0, 10, Partition::guided, 1, [](auto, auto, int) {}, 0).error().kind, ErrorKind::usage);
}

TEST(ForRangeDynamicTest, nobody_waits_while_one_element_takes_long) {
  auto pool = WorkerPool::create(2);
  ASSERT_TRUE(pool);
  PoolTeam team = (*pool)->team();
  std::atomic<int> done = 0;
  // The first element returns only after all others. That would be impossible if elements were assigned in
  // advance.
  ASSERT_TRUE(for_range(team, 0, 100, Partition::dynamic, 1, [&](std::int64_t element, std::int64_t, int) {
    while (element == 0 && done < 99)
      std::this_thread::yield();
    ++done;
  }));
  EXPECT_EQ(done, 100);
}

TEST(ForRangeErrorTest, a_grain_below_one_is_a_usage_error) {
  SerialTeam team;
  for (const std::int64_t grain : {std::int64_t{0}, std::int64_t{-1}, lowest}) {
    const Status status = for_range(team, 0, 10, Partition::dynamic, grain, [](auto, auto, int) { FAIL(); });
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("grain"));
  }
}

TEST(ForRangeErrorTest, ranges_at_the_ends_of_the_integers_are_covered_or_refused) {
  auto pool = WorkerPool::create(3);
  ASSERT_TRUE(pool);
  PoolTeam team = (*pool)->team();
  for (const auto partition : {Partition::static_, Partition::dynamic, Partition::guided}) {
    for (const std::int64_t begin : {lowest, highest - 10}) {
      const auto pieces = pieces_of(team, begin, begin + 10, partition, 3);
      EXPECT_EQ(pieces.front().begin, begin);
      EXPECT_EQ(pieces.back().end, begin + 10);
    }
    const auto whole = pieces_of(team, 0, highest, partition, highest / 2);
    EXPECT_EQ(whole.back().end, highest);
    EXPECT_FALSE(for_range(team, lowest, highest, partition, 1, [](auto, auto, int) { FAIL(); }));
    EXPECT_TRUE(for_range(team, highest, lowest, partition, 1, [](auto, auto, int) { FAIL(); })) << "empty";
  }
}

TEST(ForRangeErrorTest, an_exception_ends_one_part_and_is_reported) {
  auto pool = WorkerPool::create(2);
  ASSERT_TRUE(pool);
  PoolTeam team = (*pool)->team();
  for (const auto partition : {Partition::static_, Partition::dynamic, Partition::guided}) {
    std::atomic<int> elements = 0;
    const Status status = for_range(team, 0, 100, partition, 1, [&](std::int64_t b, std::int64_t e, int) {
      if (b == 0) throw std::runtime_error("torn");
      elements += static_cast<int>(e - b);
    });
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("torn"));
    EXPECT_GT(elements, 0);
  }
}

TEST(ContiguousPartTest, parts_tile_the_range_and_differ_by_at_most_one) {
  for (const std::int64_t length :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{7}, std::int64_t{1000}, highest})
    for (const std::int64_t parts : {1, 2, 3, 7, 64}) {
      std::int64_t next = 0;
      for (std::int64_t index = 0; index < parts; ++index) {
        const Part part = contiguous_part(length, parts, index);
        EXPECT_EQ(part.begin, next);
        EXPECT_GE(part.end - part.begin, length / parts);
        EXPECT_LE(part.end - part.begin - length / parts, 1);
        next = part.end;
      }
      EXPECT_EQ(next, length);
    }
}

}  // namespace
}  // namespace millrace::pool
