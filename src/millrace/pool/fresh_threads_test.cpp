// Tests what FreshThreads promises beyond Team (team_test.cpp).
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/pool/fresh_threads.h"
#include "millrace/pool/own_cpus_testing.h"

#include <cstddef>
#include <set>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace millrace::pool {
namespace {

using machine::CpuSet;
using testing::HasSubstr;

TEST(FreshThreadsTest, every_run_has_threads_of_its_own) {
  FreshThreads team(3);
  std::set<long> seen;  // the kernel does not reuse thread IDs at once
  for (int run = 0; run < 10; ++run) {
    std::vector<long> threads(3);
    ASSERT_TRUE(team.run([&](int rank) { threads[static_cast<std::size_t>(rank)] = syscall(SYS_gettid); }));
    seen.insert(threads.begin(), threads.end());
  }
  EXPECT_EQ(seen.size(), 10U * 2 + 1);
}

TEST(FreshThreadsTest, threads_are_bound_before_their_work_and_the_leader_stays_as_it_is) {
  const CpuSet usable = own_cpus();
  const std::vector<CpuSet> bindings{CpuSet{usable.lowest()}, CpuSet{usable.highest()}, {}};
  FreshThreads team(3, bindings);
  std::vector<CpuSet> masks(3);
  ASSERT_TRUE(team.run([&](int rank) { masks[static_cast<std::size_t>(rank)] = own_cpus(); }));
  EXPECT_EQ(masks, (std::vector<CpuSet>{CpuSet{usable.lowest()}, CpuSet{usable.highest()}, usable}));
}

TEST(FreshThreadsTest, parts_of_a_split_keep_the_bindings_of_their_ranks) {
  const CpuSet usable = own_cpus();
  const CpuSet low{usable.lowest()};
  const CpuSet high{usable.highest()};
  const std::vector<CpuSet> bindings{low, high, high, low};
  FreshThreads team(4, bindings);
  std::vector<CpuSet> masks(4);
  ASSERT_TRUE(team.run_teams(2, [&](int part, Team& half) {
    const Status status =
        half.run([&](int rank) { masks[static_cast<std::size_t>(2 * part + rank)] = own_cpus(); });
    EXPECT_TRUE(status);
  }));
  EXPECT_EQ(masks, (std::vector<CpuSet>{low, high, high, usable}));
}

TEST(FreshThreadsTest, an_impossible_binding_names_the_rank) {
  const std::vector<CpuSet> bindings{{}, CpuSet{own_cpus().highest() + 1000}, {}};
  FreshThreads team(3, bindings);
  const Status status = team.run([](int) {});
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("rank 1"));
}

}  // namespace
}  // namespace millrace::pool
