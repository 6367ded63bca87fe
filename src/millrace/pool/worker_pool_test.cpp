#include "millrace/base/error/clock.h"
#include "millrace/base/testing/thread_sleeps_testing.h"
#include "millrace/machine/thread/refused_calls_testing.h"
#include "millrace/pool/for_range.h"
#include "millrace/pool/own_cpus_testing.h"
#include "millrace/pool/worker_pool.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace millrace::pool {
namespace {

using machine::CpuSet;
using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<WorkerPool> make_pool(int workers, std::vector<CpuSet> bindings = {}) {
  auto pool = WorkerPool::create(workers, bindings);
  EXPECT_TRUE(pool) << pool.error().message;
  return pool ? std::move(*pool) : nullptr;
}

constexpr std::string_view worker_name = "worker-";
bool is_worker(pid_t, const ThreadSleeps& thread) { return thread.name.starts_with(worker_name); }

// The pool's threads in this process, by the number in their name.
std::map<int, ThreadSleeps> sleeps_of_workers() {
  std::map<int, ThreadSleeps> result;
  for (const auto& [number, thread] : thread_sleeps(getpid()))
    if (is_worker(number, thread)) result[std::stoi(thread.name.substr(worker_name.size()))] = thread;
  return result;
}

TEST(WorkerPoolTest, fewer_than_one_worker_is_a_usage_error) {
  for (const int workers : {0, -3}) {
    const auto pool = WorkerPool::create(workers);
    ASSERT_FALSE(pool);
    EXPECT_EQ(pool.error().kind, ErrorKind::usage);
    EXPECT_THAT(pool.error().message, HasSubstr(std::to_string(workers)));
  }
}

TEST(WorkerPoolTest, makes_one_thread_less_than_workers_and_joins_them) {
  for (const int workers : {1, 2, 5}) {
    {
      const auto pool = make_pool(workers);
      EXPECT_EQ(pool->size(), workers);
      EXPECT_EQ(sleeps_of_workers().size(), static_cast<std::size_t>(workers - 1));
    }
    EXPECT_TRUE(sleeps_of_workers().empty());
  }
}

TEST(WorkerPoolTest, is_made_and_ended_many_times_without_being_used) {
  for (int i = 0; i < 300; ++i)
    make_pool(3);
}

TEST(WorkerPoolTest, an_idle_pool_uses_no_cpu) {
  const auto pool = make_pool(4);
  ASSERT_TRUE(pool->team().run([](int) {}));
  EXPECT_TRUE(come_to_rest(is_worker)) << "a worker polls";
}

TEST(WorkerPoolTest, a_loop_wakes_only_as_many_workers_as_it_has_work_for) {
  const auto pool = make_pool(5);
  PoolTeam team = pool->team();
  for (const auto partition : {Partition::static_, Partition::dynamic, Partition::guided})
    for (int items = 0; items <= 5; ++items) {
      ASSERT_TRUE(come_to_rest(is_worker));
      const auto before = sleeps_of_workers();
      ASSERT_TRUE(for_range(team, 0, items, partition, 1, [](auto, auto, int) {}));
      ASSERT_TRUE(come_to_rest(is_worker));
      // A worker that woke up has gone to sleep again.
      for (const auto& [worker, sleeps] : sleeps_of_workers())
        EXPECT_EQ(sleeps.count > before.at(worker).count, worker >= 5 - items)
            << "worker " << worker << ", items " << items;
    }
}

TEST(WorkerPoolTest, no_wake_up_is_lost_over_many_forks_with_random_pauses) {
  constexpr int forks = 100'000;
  for (const int workers : {2, 3}) {
    const auto pool = make_pool(workers);
    PoolTeam team = pool->team();
    std::mt19937 random(static_cast<unsigned>(workers));
    // Pauses around the linger, so that posts find workers polling, falling asleep and asleep.
    std::uniform_int_distribution<std::int64_t> pause(0, 2 * WorkerPool::linger_ns);
    std::vector<int> calls(static_cast<std::size_t>(workers));
    for (int fork = 0; fork < forks / 2; ++fork) {
      const std::int64_t leader_pause = fork % 4 == 0 ? pause(random) : 0;
      const std::int64_t worker_pause = fork % 4 == 1 ? pause(random) : 0;
      ASSERT_TRUE(team.run([&](int rank) {
        ++calls[static_cast<std::size_t>(rank)];
        for (const std::int64_t until = now_ns() + worker_pause;
             rank == 0 && worker_pause > 0 && now_ns() < until;) {
        }
      }));
      for (const std::int64_t until = now_ns() + leader_pause; leader_pause > 0 && now_ns() < until;) {
      }
    }
    EXPECT_THAT(calls, testing::Each(forks / 2));
  }
}

TEST(WorkerPoolTest, more_workers_than_cpus_make_progress) {
  const auto pool = make_pool(static_cast<int>(std::thread::hardware_concurrency()) * 4);
  PoolTeam team = pool->team();
  std::atomic<int> calls = 0;
  for (int fork = 0; fork < 1000; ++fork)
    ASSERT_TRUE(team.run([&](int) { calls.fetch_add(1, std::memory_order_relaxed); }));
  EXPECT_EQ(calls, 1000 * pool->size());
}

TEST(WorkerPoolTest, several_pools_on_one_thread_do_not_mix) {
  const auto one = make_pool(2);
  const auto other = make_pool(3);
  int inner_calls[3] = {};
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(one->team().run([&](int rank) {
      if (rank == 1) {
        EXPECT_TRUE(other->team().run([&](int inner) { ++inner_calls[inner]; }));
      }
    }));
  EXPECT_THAT(inner_calls, ElementsAre(100, 100, 100));
}

// --- Busy workers cannot be called. ---

TEST(WorkerPoolTest, another_thread_cannot_run_the_team) {
  const auto pool = make_pool(3);
  Status status;
  int calls = 0;
  std::thread([&] { status = pool->team().run([&](int) { ++calls; }); }).join();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::usage);
  EXPECT_THAT(status.error().message, HasSubstr("another thread"));
  EXPECT_EQ(calls, 0);
}

TEST(WorkerPoolTest, no_member_can_run_the_team_that_it_is_running_in) {
  const auto pool = make_pool(3);
  PoolTeam team = pool->team();
  const std::vector<CpuSet> nowhere(3, CpuSet{own_cpus().highest() + 1000});
  std::atomic<int> refused = 0;
  ASSERT_TRUE(team.run([&](int rank) {
    if (!team.run([](int) {})) ++refused;
    if (!team.run_teams(2, [](int, Team&) {})) ++refused;
    if (rank == 2) {
      EXPECT_THAT(pool->rebind(nowhere).error().message, HasSubstr("busy"));
    }
  }));
  EXPECT_EQ(refused, 6);
  EXPECT_TRUE(team.run([](int) {}));
}

TEST(WorkerPoolTest, a_leader_may_run_itself_alone_within_a_run) {
  const auto pool = make_pool(3);
  PoolTeam team = pool->team();
  ASSERT_TRUE(team.run([&](int rank) {
    if (rank == 2) {
      EXPECT_TRUE(team.last(1).run([](int) {}));
    }
  }));
}

TEST(WorkerPoolTest, a_team_kept_after_its_split_cannot_run_members_that_are_lent_otherwise) {
  const auto pool = make_pool(4);
  PoolTeam team = pool->team();
  std::optional<PoolTeam> kept;  // workers 0 and 1, led by 1
  ASSERT_TRUE(team.run_teams(2, [&](int part, Team& own) {
    if (part == 0) kept = dynamic_cast<PoolTeam&>(own);
  }));
  ASSERT_TRUE(kept);
  EXPECT_FALSE(kept->run([](int) {})) << "this thread is not worker 1";
  Status by_its_leader;
  ASSERT_TRUE(team.run([&](int rank) {
    if (rank == 1) by_its_leader = kept->run([](int) {});
  }));
  ASSERT_FALSE(by_its_leader);
  EXPECT_THAT(by_its_leader.error().message, HasSubstr("busy"));
}

TEST(WorkerPoolTest, last_gives_the_team_of_the_last_workers) {
  const auto pool = make_pool(4);
  const PoolTeam team = pool->team();
  EXPECT_EQ(team.last(3).size(), 3);
  EXPECT_EQ(team.last(0).size(), 1);
  EXPECT_EQ(team.last(9).size(), 4);
  std::vector<std::thread::id> all(4);
  std::vector<std::thread::id> last(2);
  ASSERT_TRUE(
      pool->team().run([&](int rank) { all[static_cast<std::size_t>(rank)] = std::this_thread::get_id(); }));
  ASSERT_TRUE(
      team.last(2).run([&](int rank) { last[static_cast<std::size_t>(rank)] = std::this_thread::get_id(); }));
  EXPECT_THAT(last, ElementsAre(all[2], all[3]));
}

// --- Affinity. ---

// The kernel's masks, read from within the workers.
std::vector<CpuSet> masks_of_workers(WorkerPool& pool) {
  std::vector<CpuSet> masks(static_cast<std::size_t>(pool.size()));
  EXPECT_TRUE(pool.team().run([&](int rank) { masks[static_cast<std::size_t>(rank)] = own_cpus(); }));
  return masks;
}

TEST(WorkerPoolTest, rebind_binds_each_worker_and_reports_what_was_granted) {
  const CpuSet usable = own_cpus();
  const CpuSet first{usable.lowest()};
  const CpuSet last{usable.highest()};
  const auto pool = make_pool(3);
  EXPECT_THAT(pool->granted(), ElementsAre(usable, usable, usable));
  const std::vector<CpuSet> bindings{first, last, {}};
  ASSERT_TRUE(pool->rebind(bindings));
  EXPECT_THAT(pool->granted(), ElementsAre(first, last, usable));
  EXPECT_EQ(masks_of_workers(*pool), pool->granted());
  const std::vector<CpuSet> moved{{}, first, last};
  ASSERT_TRUE(pool->rebind(moved));
  EXPECT_EQ(masks_of_workers(*pool), pool->granted());
  EXPECT_THAT(pool->granted(), ElementsAre(usable, first, last));
  ASSERT_TRUE(pool->rebind({}));
  EXPECT_THAT(masks_of_workers(*pool), ElementsAre(usable, usable, usable));
}

TEST(WorkerPoolTest, a_partly_impossible_set_reports_the_part_that_was_granted) {
  const CpuSet usable = own_cpus();
  CpuSet too_much = usable;
  too_much.insert(usable.highest() + 1000);
  const auto pool = make_pool(2);
  const std::vector<CpuSet> bindings{too_much, {}};
  ASSERT_TRUE(pool->rebind(bindings));
  EXPECT_EQ(pool->granted()[0], usable);
}

TEST(WorkerPoolTest, the_creator_gets_its_affinity_back) {
  const CpuSet usable = own_cpus();
  {
    const auto pool = make_pool(2, {CpuSet{usable.lowest()}, CpuSet{usable.lowest()}});
    EXPECT_EQ(own_cpus(), CpuSet{usable.lowest()});
    ASSERT_TRUE(pool->team().run([](int) {}));
  }
  EXPECT_EQ(own_cpus(), usable);
}

TEST(WorkerPoolTest, an_impossible_binding_names_the_worker_and_changes_nothing) {
  const CpuSet usable = own_cpus();
  const CpuSet nowhere{usable.highest() + 1000};
  const auto pool = make_pool(3);
  const std::vector<CpuSet> possible{CpuSet{usable.lowest()}, {}, {}};
  ASSERT_TRUE(pool->rebind(possible));
  const std::vector<CpuSet> impossible{{}, nowhere, {}};
  const Status status = pool->rebind(impossible);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::usage);
  EXPECT_THAT(status.error().message, HasSubstr("worker 1"));
  EXPECT_THAT(pool->granted(), ElementsAre(CpuSet{usable.lowest()}, usable, usable));
  EXPECT_EQ(masks_of_workers(*pool), pool->granted());
  EXPECT_FALSE(WorkerPool::create(3, impossible));
  EXPECT_EQ(own_cpus(), usable);
}

TEST(WorkerPoolTest, a_pool_that_nobody_binds_works_where_the_kernel_refuses_to_bind) {
  const CpuSet usable = own_cpus();
  machine::expect_where_refused({SYS_sched_setaffinity}, [&] {
    const auto pool = make_pool(3);
    ASSERT_TRUE(pool);
    std::vector<int> calls(3);
    ASSERT_TRUE(pool->team().run([&](int rank) { ++calls[static_cast<std::size_t>(rank)]; }));
    EXPECT_THAT(calls, testing::Each(1));
    EXPECT_THAT(pool->granted(), testing::Each(usable));
    EXPECT_TRUE(pool->rebind({})) << "nothing has to be undone";
    EXPECT_TRUE(pool->rebind(std::vector<CpuSet>(3, usable))) << "they are there already";
  });
}

TEST(WorkerPoolTest, a_refused_binding_is_an_error_and_the_pool_goes_on_as_it_was) {
  const CpuSet usable = own_cpus();
  if (usable.count() < 2) GTEST_SKIP() << "needs two CPUs";
  const std::vector<CpuSet> bindings{{}, CpuSet{usable.lowest()}, CpuSet{usable.highest()}};
  machine::expect_where_refused({SYS_sched_setaffinity}, [&] {
    const auto pool = make_pool(3);
    const Status refused = pool->rebind(bindings);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::failure);
    EXPECT_THAT(refused.error().message, HasSubstr("worker 1 of 3"));
    EXPECT_THAT(refused.error().message, HasSubstr("not permitted"));
    EXPECT_THAT(pool->granted(), testing::Each(usable));
    EXPECT_THAT(masks_of_workers(*pool), testing::Each(usable));
    EXPECT_FALSE(WorkerPool::create(3, bindings));
  });
}

TEST(WorkerPoolTest, works_where_the_kernel_neither_tells_nor_sets_a_mask) {
#ifdef MILLRACE_SANITIZED
  GTEST_SKIP() << "SKIPPED: sanitizers end a program whose threads cannot ask for their masks";
#endif
  const CpuSet usable = own_cpus();
  machine::expect_where_refused({SYS_sched_setaffinity, SYS_sched_getaffinity}, [&] {
    const auto pool = make_pool(2);
    ASSERT_TRUE(pool->team().run([](int) {}));
    EXPECT_THAT(pool->granted(), testing::Each(usable));  // from /proc
  });
}

TEST(WorkerPoolTest, a_mask_that_others_set_on_the_creator_outlives_a_pool_that_bound_nobody) {
  const machine::AffinityGuard guard;
  const CpuSet one{own_cpus().lowest()};
  {
    const auto pool = make_pool(2);
    ASSERT_TRUE(machine::bind_current_thread(one));
  }
  EXPECT_EQ(own_cpus(), one);
}

TEST(WorkerPoolTest, a_wrong_number_of_bindings_is_a_usage_error) {
  const auto pool = make_pool(2);
  const std::vector<CpuSet> bindings(3);
  const Status status = pool->rebind(bindings);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("3 affinity masks for a pool of 2"));
}

TEST(WorkerPoolTest, workers_on_one_cpu_make_progress) {
  const CpuSet one{own_cpus().lowest()};
  const auto pool = make_pool(3, {one, one, one});
  PoolTeam team = pool->team();
  std::vector<int> calls(3);
  for (int fork = 0; fork < 1000; ++fork)
    ASSERT_TRUE(team.run([&](int rank) { ++calls[static_cast<std::size_t>(rank)]; }));
  EXPECT_THAT(calls, testing::Each(1000));
}

TEST(MayLingerTest, workers_that_can_have_a_cpu_each_may_poll) {
  const CpuSet zero{0};
  const CpuSet one{1};
  const CpuSet both{0, 1};
  const CpuSet four = CpuSet::range(0, 3);
  const auto of = [](std::vector<CpuSet> allowed) { return may_linger(allowed); };
  EXPECT_THAT(of({both}), ElementsAre(true));
  EXPECT_THAT(of({both, both}), ElementsAre(true, true));
  EXPECT_THAT(of({both, both, both}), ElementsAre(false, false, false));
  EXPECT_THAT(of({zero, zero}), ElementsAre(false, false));
  EXPECT_THAT(of({zero, one}), ElementsAre(true, true));
  EXPECT_THAT(of({zero, one, both}), ElementsAre(true, true, false));
  EXPECT_THAT(of({zero, zero, four}), ElementsAre(false, false, true));
  EXPECT_THAT(of({{}, {}}), ElementsAre(false, false)) << "unknown";
  EXPECT_THAT(of({}), ElementsAre());
}

}  // namespace
}  // namespace millrace::pool
