// Checks that a fork, a split and a loop on a pool do not allocate. Counts calls of operator new in the whole
// test program. Empty under the sanitizers, because they replace operator new themselves.
#ifndef MILLRACE_SANITIZED

#include "millrace/pool/for_range.h"
#include "millrace/pool/worker_pool.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

namespace {
std::atomic<std::int64_t> allocations = 0;  // relaxed: read when the threads are idle
}

void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
// The analyser takes these functions for callers of operator delete.
// NOLINTBEGIN(clang-analyzer-cplusplus.NewDelete)
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
// NOLINTEND(clang-analyzer-cplusplus.NewDelete)

namespace millrace::pool {
namespace {

TEST(NoAllocationTest, the_count_sees_an_allocation) {
  const std::int64_t before = allocations;
  ::operator delete(::operator new(1));
  EXPECT_EQ(allocations - before, 1);
}

TEST(NoAllocationTest, runs_splits_and_loops_allocate_nothing) {
  auto pool = WorkerPool::create(4);
  ASSERT_TRUE(pool);
  PoolTeam team = (*pool)->team();
  std::atomic<std::int64_t> sum = 0;
  const std::int64_t before = allocations;
  bool succeeded = true;
  constexpr int rounds = 200;
  for (int i = 0; i < rounds; ++i) {
    succeeded &= team.run([&](int rank) { sum += rank; }).has_value();
    succeeded &= team.run_teams(2,
                                [&](int, Team& half) {
                                  if (!half.run([&](int rank) { sum += rank; })) sum = -1;
                                })
                     .has_value();
    for (const auto partition : {Partition::static_, Partition::dynamic, Partition::guided})
      succeeded &=
          for_range(team, 0, 100, partition, 3, [&](auto b, auto e, int) { sum += e - b; }).has_value();
  }
  EXPECT_EQ(allocations - before, 0);
  EXPECT_TRUE(succeeded);
  EXPECT_EQ(sum, rounds * (6 + 2 + 300));
}

}  // namespace
}  // namespace millrace::pool

#endif
