// The cost of the pool in ordinary use. fork_join_compare_main.cpp compares it with other runtimes.
#include "millrace/base/error/clock.h"
#include "millrace/pool/for_range.h"
#include "millrace/pool/fresh_threads.h"
#include "millrace/pool/futex.h"
#include "millrace/pool/worker_pool.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include <benchmark/benchmark.h>

namespace {

using namespace millrace;
using namespace millrace::pool;

void check(const Status& status) {
  if (!status) std::abort();
}

void fork_join_on_pool(benchmark::State& state) {
  const auto pool = WorkerPool::create(static_cast<int>(state.range(0))).value();
  PoolTeam team = pool->team();
  while (state.KeepRunning())
    check(team.run([](int rank) { benchmark::DoNotOptimize(rank); }));
}
BENCHMARK(fork_join_on_pool)->Arg(1)->Arg(2)->Arg(4)->UseRealTime();

void fork_join_on_fresh_threads(benchmark::State& state) {
  FreshThreads team(static_cast<int>(state.range(0)));
  while (state.KeepRunning())
    check(team.run([](int rank) { benchmark::DoNotOptimize(rank); }));
}
BENCHMARK(fork_join_on_fresh_threads)->Arg(1)->Arg(2)->Arg(4)->UseRealTime();

// Forks to sleeping workers, as between frames that arrive slowly.
void fork_join_of_sleeping_workers(benchmark::State& state) {
  const auto pool = WorkerPool::create(static_cast<int>(state.range(0))).value();
  PoolTeam team = pool->team();
  while (state.KeepRunning()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::int64_t start = now_ns();
    check(team.run([](int rank) { benchmark::DoNotOptimize(rank); }));
    state.SetIterationTime(seconds(now_ns() - start));
  }
}
BENCHMARK(fork_join_of_sleeping_workers)->Arg(2)->Arg(4)->UseManualTime();

// 1080 rows without work: the cost of dividing a frame, for each partition and grain.
void loop_over_rows(benchmark::State& state) {
  const auto pool = WorkerPool::create(2).value();
  PoolTeam team = pool->team();
  const auto partition = static_cast<Partition>(state.range(0));
  while (state.KeepRunning())
    check(for_range(team, 0, 1080, partition, state.range(1),
                    [](std::int64_t begin, std::int64_t, int) { benchmark::DoNotOptimize(begin); }));
}
BENCHMARK(loop_over_rows)
    ->ArgNames({"partition", "grain"})
    ->ArgsProduct({{static_cast<int>(Partition::static_), static_cast<int>(Partition::dynamic),
                    static_cast<int>(Partition::guided)},
                   {1, 16}})
    ->UseRealTime();

// Compares two ways to sleep: two threads wake each other in turn, with the bare futex or with
// std::atomic::wait.
template <class Wait, class Wake> void sleeping_round_trip(benchmark::State& state, Wait wait, Wake wake) {
  std::atomic<std::uint32_t> turn = 0;  // even: the benchmark's, odd: the other thread's
  std::atomic<bool> ended = false;
  std::thread other([&] {
    for (std::uint32_t mine = 1; !ended; mine += 2) {
      for (std::uint32_t seen = turn; seen != mine && !ended; seen = turn)
        wait(turn, seen);
      turn = mine + 1;
      wake(turn);
    }
  });
  std::uint32_t next = 0;
  while (state.KeepRunning()) {
    turn = next + 1;
    wake(turn);
    next += 2;
    for (std::uint32_t seen = turn; seen != next; seen = turn)
      wait(turn, seen);
  }
  ended = true;
  turn = next + 1;
  wake(turn);
  other.join();
}
void sleeping_round_trip_by_futex(benchmark::State& state) {
  sleeping_round_trip(
      state, [](auto& word, std::uint32_t seen) { futex_wait(word, seen); },
      [](auto& word) { futex_wake_one(word); });
}
BENCHMARK(sleeping_round_trip_by_futex)->UseRealTime();
void sleeping_round_trip_by_atomic_wait(benchmark::State& state) {
  sleeping_round_trip(
      state, [](auto& word, std::uint32_t seen) { word.wait(seen); }, [](auto& word) { word.notify_one(); });
}
BENCHMARK(sleeping_round_trip_by_atomic_wait)->UseRealTime();

}  // namespace
