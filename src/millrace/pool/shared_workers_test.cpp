#include "millrace/pool/for_range.h"
#include "millrace/pool/in_turn_team.h"
#include "millrace/pool/shared_workers.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <future>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace millrace::pool {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

std::unique_ptr<SharedWorkers> make(int workers) {
  auto shared = SharedWorkers::create(workers);
  EXPECT_TRUE(shared) << shared.error().message;
  return std::move(*shared);
}

TEST(SharedWorkers, RunEveryRankOnceWhateverTheLimit) {
  for (const int workers : {1, 2, 4}) {
    const auto shared = make(workers);
    for (const int limit : {0, 1, 2, 3, 100}) {
      shared->limit_each(limit);
      for (const int ranks : {1, 2, 3, 9}) {
        for (int active = 1; active <= ranks; ++active) {
          std::vector<std::atomic<int>> counts(static_cast<std::size_t>(ranks));
          ASSERT_TRUE(shared->run(ranks, [&](Team& team) {
            EXPECT_EQ(team.size(), ranks);
            return team.run_last(active, [&](int rank) { ++counts[static_cast<std::size_t>(rank)]; });
          }));
          for (int rank = 0; rank < ranks; ++rank)
            EXPECT_EQ(counts[static_cast<std::size_t>(rank)], rank < ranks - active ? 0 : 1);
        }
      }
    }
  }
}

TEST(SharedWorkers, SplitATeamIntoPartsThatSumUpToIt) {
  for (const int workers : {1, 3}) {
    const auto shared = make(workers);
    for (int parts = 1; parts <= 7; ++parts) {
      std::atomic<int> ranks = 0;
      std::vector<std::atomic<int>> calls(static_cast<std::size_t>(parts));
      ASSERT_TRUE(shared->run(7, [&](Team& team) {
        return team.run_teams(parts, [&](int part, Team& own) {
          ++calls[static_cast<std::size_t>(part)];
          EXPECT_TRUE(own.run([&](int) { ++ranks; }));
        });
      }));
      EXPECT_EQ(ranks, 7);
      for (const auto& count : calls)
        EXPECT_EQ(count, 1);
    }
  }
}

TEST(SharedWorkers, NeverLetMoreThreadsWorkThanTheyAre) {
  constexpr int workers = 3;
  const auto shared = make(workers);
  std::atomic<int> at_work = 0;
  std::atomic<int> most = 0;
  std::atomic<std::int64_t> sum = 0;
  {
    std::vector<std::jthread> leaders;
    for (int leader = 0; leader < 6; ++leader) {
      leaders.emplace_back([&] {
        for (int turn = 0; turn < 60; ++turn) {
          const Status done = shared->run(4, [&](Team& team) {
            return team.run([&](int rank) {
              const int now = ++at_work;
              int before = most.load();
              while (before < now && !most.compare_exchange_weak(before, now)) {
              }
              sum += rank;
              --at_work;
            });
          });
          EXPECT_TRUE(done);
        }
      });
    }
  }
  EXPECT_LE(most, workers);
  EXPECT_EQ(sum, 6 * 60 * (0 + 1 + 2 + 3));
}

TEST(SharedWorkers, LendHelpersWithinTheLimitOnly) {
  const auto shared = make(4);
  // Each rank waits for the maximum number of threads, so a missing helper would be noticed.
  for (const int limit : {1, 2, 4}) {
    shared->limit_each(limit);
    std::mutex mutex;
    std::condition_variable came;
    std::set<std::thread::id> threads;
    ASSERT_TRUE(shared->run(4, [&](Team& team) {
      return team.run([&](int) {
        std::unique_lock lock(mutex);
        threads.insert(std::this_thread::get_id());
        came.notify_all();
        came.wait(lock, [&] { return static_cast<int>(threads.size()) == limit; });
      });
    }));
    EXPECT_EQ(static_cast<int>(threads.size()), limit);
    EXPECT_TRUE(threads.contains(std::this_thread::get_id()));
  }
}

TEST(SharedWorkers, LendHelpersAgainWhenOtherLeadersAreThrough) {
  const auto shared = make(2);
  const auto threads_of_a_run = [&] {
    std::atomic<int> here = 0;
    EXPECT_TRUE(shared->run(2, [&](Team& team) {
      return team.run([&](int) {
        ++here;
        while (here < 2)
          std::this_thread::yield();
      });
    }));
    return here.load();
  };
  EXPECT_EQ(threads_of_a_run(), 2);
  std::jthread(threads_of_a_run).join();
  EXPECT_EQ(threads_of_a_run(), 2);
}

TEST(SharedWorkers, TellTheFailureOfTheLowestRankAfterAllHaveRun) {
  const auto shared = make(3);
  for (int turn = 0; turn < 50; ++turn) {
    std::atomic<int> ran = 0;
    const Status done = shared->run(8, [&](Team& team) {
      return team.run([&](int rank) {
        ++ran;
        if (rank >= 2) throw std::runtime_error(fmt::format("no {}", rank));
      });
    });
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message, HasSubstr("rank 2 failed: no 2"));
    EXPECT_EQ(ran, 8);
  }
}

TEST(SharedWorkers, AreFreeAgainAfterAnExceptionOfTheLeader) {
  const auto shared = make(1);
  EXPECT_THROW(std::ignore = shared->run(1, [](Team&) -> Status { throw std::runtime_error("x"); }),
               std::runtime_error);
  EXPECT_TRUE(shared->run(1, [](Team&) -> Status { return {}; }));
}

TEST(SharedWorkers, RefuseWhatCannotWork) {
  EXPECT_EQ(SharedWorkers::create(0).error().kind, ErrorKind::usage);
  const auto shared = make(2);
  EXPECT_EQ(shared->run(0, [](Team&) -> Status { return {}; }).error().kind, ErrorKind::usage);
  EXPECT_EQ(shared->run(2, [](Team& team) { return team.run_last(3, [](int) {}); }).error().kind,
            ErrorKind::usage);
}

TEST(SharedWorkers, ShareALoopOut) {
  const auto shared = make(2);
  std::vector<std::atomic<int>> visits(1000);
  ASSERT_TRUE(shared->run(5, [&](Team& team) {
    return for_range(team, 0, 1000, Partition::guided, 1,
                     [&](std::int64_t begin, std::int64_t end, int rank) {
                       EXPECT_LT(rank, 5);
                       for (auto i = begin; i < end; ++i)
                         ++visits[static_cast<std::size_t>(i)];
                     });
  }));
  EXPECT_TRUE(std::ranges::all_of(visits, [](const auto& count) { return count == 1; }));
}

#ifndef MILLRACE_SANITIZED  // the sanitizer delivers signals late

std::set<pid_t> threads_of_this_process() {
  std::set<pid_t> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    threads.insert(std::stoi(entry.path().filename()));
  return threads;
}

std::atomic<int> held = 0;
std::atomic<bool> release = false;

// Keeps threads from running until destruction, like a busy machine.
class Holding {
 public:
  Holding() {
    release = false;
    struct sigaction hold{};
    hold.sa_handler = [](int) {
      ++held;
      while (!release)
        usleep(200);
      --held;
    };
    sigaction(SIGUSR1, &hold, &before_);
  }
  ~Holding() {
    release = true;
    while (held > 0)
      std::this_thread::yield();
    sigaction(SIGUSR1, &before_, nullptr);
  }
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;

  void hold(pid_t thread) {
    const int before = held;
    ASSERT_EQ(syscall(SYS_tgkill, getpid(), thread, SIGUSR1), 0);
    while (held == before)
      std::this_thread::yield();
  }

 private:
  struct sigaction before_{};
};

TEST(SharedWorkers, DoNotWaitForAHelperThatDoesNotGetToRun) {
  const auto before = threads_of_this_process();
  const auto shared = make(3);
  std::set<pid_t> helpers;
  std::ranges::set_difference(threads_of_this_process(), before, std::inserter(helpers, helpers.end()));
  ASSERT_EQ(helpers.size(), 2U);
  const auto run = [&] {
    std::atomic<int> ranks = 0;
    for (int turn = 0; turn < 5; ++turn)
      EXPECT_TRUE(shared->run(4, [&](Team& team) { return team.run([&](int) { ++ranks; }); }));
    return ranks.load();
  };
  {
    std::future<int> done;  // outlives `holding`, so that a run that waits for the helpers can end
    Holding holding;
    for (const pid_t helper : helpers) {
      holding.hold(helper);  // first one, then both
      done = std::async(std::launch::async, run);
      ASSERT_EQ(done.wait_for(std::chrono::minutes(1)), std::future_status::ready);
      EXPECT_EQ(done.get(), 20);
    }
  }
  EXPECT_EQ(run(), 20);
}

#endif

TEST(InTurnTeam, RunsItsRanksInOrderOnTheCallingThread) {
  InTurnTeam team(4);
  std::vector<int> ranks;
  ASSERT_TRUE(team.run_last(3, [&](int rank) { ranks.push_back(rank); }));
  EXPECT_EQ(ranks, (std::vector{1, 2, 3}));
  std::vector<int> sizes;
  ASSERT_TRUE(team.run_teams(3, [&](int, Team& part) { sizes.push_back(part.size()); }));
  EXPECT_EQ(sizes, (std::vector{2, 1, 1}));
  const Status failed = team.run([](int rank) {
    if (rank > 0) throw std::runtime_error("no");
  });
  EXPECT_THAT(failed.error().message, HasSubstr("rank 1"));
}

}  // namespace
}  // namespace millrace::pool
