// Tests the promises of Team for each implementation and several sizes.
#include "millrace/pool/fresh_threads.h"
#include "millrace/pool/serial_team.h"
#include "millrace/pool/team.h"
#include "millrace/pool/worker_pool.h"

#include <atomic>
#include <memory>
#include <new>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::pool {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Not;

enum class Kind { serial, pool, fresh };

struct TeamCase {
  Kind kind;
  int size;
};

std::ostream& operator<<(std::ostream& out, const TeamCase& c) {
  const char* names[] = {"serial", "pool", "fresh"};
  return out << names[static_cast<int>(c.kind)] << c.size;
}

class TeamTest : public testing::TestWithParam<TeamCase> {
 protected:
  void SetUp() override {
    switch (GetParam().kind) {
    case Kind::serial:
      team_ = std::make_unique<SerialTeam>();
      break;
    case Kind::fresh:
      team_ = std::make_unique<FreshThreads>(size());
      break;
    case Kind::pool: {
      auto pool = WorkerPool::create(size());
      ASSERT_TRUE(pool) << pool.error().message;
      pool_ = std::move(*pool);
      team_ = std::make_unique<PoolTeam>(pool_->team());
      break;
    }
    }
  }

  [[nodiscard]] static int size() { return GetParam().size; }
  [[nodiscard]] Team& team() { return *team_; }

 private:
  std::unique_ptr<WorkerPool> pool_;
  std::unique_ptr<Team> team_;
};

TEST_P(TeamTest, run_calls_each_rank_exactly_once) {
  ASSERT_EQ(team().size(), size());
  std::vector<int> calls(static_cast<std::size_t>(size()));
  for (int run = 1; run <= 200; ++run) {
    ASSERT_TRUE(team().run([&](int rank) { ++calls.at(static_cast<std::size_t>(rank)); }));
    ASSERT_THAT(calls, Each(run));
  }
}

TEST_P(TeamTest, run_last_calls_the_last_ranks_only) {
  for (int active = 1; active <= size(); ++active) {
    std::vector<int> calls(static_cast<std::size_t>(size()));
    ASSERT_TRUE(team().run_last(active, [&](int rank) { ++calls.at(static_cast<std::size_t>(rank)); }));
    for (int rank = 0; rank < size(); ++rank)
      EXPECT_EQ(calls[static_cast<std::size_t>(rank)], rank >= size() - active ? 1 : 0)
          << rank << " of " << active;
  }
}

TEST_P(TeamTest, the_caller_is_the_last_rank_and_the_only_one_on_its_thread) {
  std::vector<std::thread::id> threads(static_cast<std::size_t>(size()));
  ASSERT_TRUE(
      team().run([&](int rank) { threads[static_cast<std::size_t>(rank)] = std::this_thread::get_id(); }));
  EXPECT_EQ(threads.back(), std::this_thread::get_id());
  threads.pop_back();
  EXPECT_THAT(threads, Each(Not(std::this_thread::get_id())));
}

TEST_P(TeamTest, all_ranks_run_side_by_side) {
  std::atomic<int> present = 0;
  ASSERT_TRUE(team().run([&](int) {
    ++present;
    while (present < size())  // ends only if all ranks run at the same time
      std::this_thread::yield();
  }));
  EXPECT_EQ(present, size());
}

TEST_P(TeamTest, writes_are_visible_across_fork_and_join) {
  // Not atomic: the thread sanitizer reports accesses that the fork and the join do not order.
  std::vector<int> values(static_cast<std::size_t>(size()));
  for (int run = 0; run < 500; ++run) {
    ASSERT_TRUE(team().run([&](int rank) {
      int& value = values[static_cast<std::size_t>(size() - 1 - rank)];
      value = value * 3 + 1;
    }));
    for (int& value : values)
      value %= 1000;
  }
  EXPECT_THAT(values, Each(values.front()));
}

TEST_P(TeamTest, counts_outside_the_team_are_refused_without_a_call) {
  int calls = 0;
  for (const int count : {-1, 0, size() + 1}) {
    const Status ranks = team().run_last(count, [&](int) { ++calls; });
    ASSERT_FALSE(ranks);
    EXPECT_EQ(ranks.error().kind, ErrorKind::usage);
    EXPECT_THAT(ranks.error().message, HasSubstr(std::to_string(count) + " ranks"));
    const Status parts = team().run_teams(count, [&](int, Team&) { ++calls; });
    ASSERT_FALSE(parts);
    EXPECT_THAT(parts.error().message, HasSubstr(std::to_string(count) + " teams"));
  }
  EXPECT_EQ(calls, 0);
}

TEST_P(TeamTest, an_exception_becomes_an_error_after_all_ranks_have_finished) {
  for (int thrower = 0; thrower < size(); ++thrower) {
    std::atomic<int> finished = 0;
    const Status status = team().run([&](int rank) {
      if (rank == thrower) throw std::runtime_error("broken " + std::to_string(rank));
      std::this_thread::yield();
      ++finished;
    });
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::failure);
    EXPECT_THAT(status.error().message, HasSubstr("broken " + std::to_string(thrower)));
    EXPECT_EQ(finished, size() - 1);
    EXPECT_TRUE(team().run([](int) {})) << "the team works on after an error";
  }
}

TEST_P(TeamTest, a_lack_of_memory_is_told_in_words) {
  const Status status = team().run([&](int rank) {
    if (rank == 0) throw std::bad_alloc();
  });
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("out of memory"));
}

TEST_P(TeamTest, of_several_exceptions_the_lowest_rank_is_told) {
  for (int lowest = 0; lowest < size(); ++lowest) {
    const Status status = team().run([&](int rank) {
      if (rank >= lowest) throw rank;  // NOLINT: deliberately not a std::exception
    });
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("rank " + std::to_string(lowest) + " "));
  }
}

TEST_P(TeamTest, run_teams_covers_all_members_in_contiguous_parts) {
  for (int parts = 1; parts <= size(); ++parts) {
    std::vector<int> sizes(static_cast<std::size_t>(parts));
    std::vector<std::thread::id> leaders(static_cast<std::size_t>(parts));
    ASSERT_TRUE(team().run_teams(parts, [&](int part, Team& own) {
      sizes.at(static_cast<std::size_t>(part)) += own.size();
      leaders[static_cast<std::size_t>(part)] = std::this_thread::get_id();
    }));
    int total = 0;
    for (const int part_size : sizes) {
      total += part_size;
      EXPECT_GE(part_size, size() / parts);
      EXPECT_LE(part_size, (size() + parts - 1) / parts);
    }
    EXPECT_EQ(total, size());
    EXPECT_EQ(leaders.back(), std::this_thread::get_id());
  }
}

TEST_P(TeamTest, disjoint_teams_fork_repeatedly_and_independently) {
  for (int parts = 1; parts <= size(); ++parts) {
    std::vector<std::vector<int>> calls(static_cast<std::size_t>(parts));
    std::vector<Status> statuses(static_cast<std::size_t>(parts));
    ASSERT_TRUE(team().run_teams(parts, [&](int part, Team& own) {
      auto& mine = calls[static_cast<std::size_t>(part)];
      mine.resize(static_cast<std::size_t>(own.size()));
      for (int run = 0; run < 20 * (part + 1); ++run)
        if (const Status status = own.run([&](int rank) { ++mine[static_cast<std::size_t>(rank)]; }); !status)
          statuses[static_cast<std::size_t>(part)] = status;
    }));
    for (int part = 0; part < parts; ++part) {
      EXPECT_TRUE(statuses[static_cast<std::size_t>(part)]);
      EXPECT_THAT(calls[static_cast<std::size_t>(part)], Each(20 * (part + 1)));
    }
  }
}

TEST_P(TeamTest, teams_split_down_to_single_members) {
  std::atomic<int> members = 0;
  const auto split = [&](auto& self, Team& whole) -> void {
    if (whole.size() == 1) {
      ++members;
      return;
    }
    const Status status = whole.run_teams(2, [&](int, Team& half) { self(self, half); });
    EXPECT_TRUE(status) << status.error().message;
  };
  split(split, team());
  EXPECT_EQ(members, size());
}

TEST_P(TeamTest, an_error_of_a_nested_team_stays_with_its_leader) {
  const Status status = team().run_teams(size(), [&](int part, Team& own) {
    const Status inner = own.run([&](int) {
      if (part == 0) throw std::runtime_error("inner");
    });
    EXPECT_EQ(inner.has_value(), part != 0);
  });
  EXPECT_TRUE(status);
}

INSTANTIATE_TEST_SUITE_P(Kinds, TeamTest,
                         testing::Values(TeamCase{Kind::serial, 1}, TeamCase{Kind::pool, 1},
                                         TeamCase{Kind::pool, 2}, TeamCase{Kind::pool, 3},
                                         TeamCase{Kind::pool, 4}, TeamCase{Kind::pool, 8},
                                         TeamCase{Kind::fresh, 1}, TeamCase{Kind::fresh, 2},
                                         TeamCase{Kind::fresh, 5}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace millrace::pool
