// Prints the cost of a fork-join with an empty body on two threads: WorkerPool against libgomp and oneTBB, in
// pairs within one process. Also prints the CPU time used by an idle pool.
//
//   fork_join_compare [rounds] [forks per batch]
//
// Polling threads of one runtime must not disturb another, so each round runs one batch per contender in
// random order. Before a batch, the program sleeps until its other threads have used no CPU time for 5 ms
// (libgomp polls for milliseconds after a region, oneTBB for about one). The first forks of a batch wake the
// threads and are not counted. Forks are timed individually; the clock's own cost is printed and not
// subtracted. A round yields a median and a 99th percentile per contender. Ratios are computed within the
// round, so that other load on the machine affects both sides equally.
//
// The last column shows whether both halves ran on different threads. WorkerPool and libgomp guarantee that.
// oneTBB does it only if a worker steals the other half in time, which does not happen for an empty body.
// "TBB meeting" requires what the other two guarantee: each half returns when both have started, or after a
// millisecond.
#include "millrace/base/error/clock.h"
#include "millrace/base/text/count_argument.h"
#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/pool/mailbox.h"
#include "millrace/pool/spin.h"
#include "millrace/pool/worker_pool.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <omp.h>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

namespace {

using namespace millrace;

// Runs two halves in parallel: once with an empty body, and once with a body that records the thread of each
// half, because a runtime may run both on the caller.
using Halves = std::array<std::thread::id, 2>;
struct Contender {
  std::string name;
  std::function<void()> fork_join;
  std::function<void(Halves&)> fork_join_noting;
};

template <class RunHalves> Contender contender(std::string name, RunHalves run_halves) {
  return {std::move(name), [=] { run_halves([](std::size_t) {}); },
          [=](Halves& halves) {
            run_halves([&](std::size_t half) { halves[half] = std::this_thread::get_id(); });
          }};
}

struct Percentiles {
  double median = 0;
  double p99 = 0;
};

// Sorts `values` and returns a quantile by nearest rank.
double quantile(std::vector<double>& values, double q) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

double cpu_seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return seconds(nanoseconds(time));
}

// Returns when the process has used less than 0.1 ms of CPU time within 5 ms.
void wait_until_quiescent() {
  for (;;) {
    const double before = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - before < 1e-4) return;
  }
}

Percentiles measure(const Contender& contender, int forks) {
  constexpr int warm_up = 500;
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(forks));
  wait_until_quiescent();
  for (int i = 0; i < warm_up; ++i)
    contender.fork_join();
  for (int i = 0; i < forks; ++i) {
    const std::int64_t start = now_ns();
    contender.fork_join();
    times.push_back(static_cast<double>(now_ns() - start));
  }
  return {quantile(times, 0.5), quantile(times, 0.99)};
}

struct Series {
  std::vector<double> median;
  std::vector<double> p99;
};

std::string spread(std::vector<double> values, const char* format) {
  return fmt::format(fmt::runtime(std::string(format) + " [" + format + " .. " + format + "]"),
                     quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75));
}

std::vector<double> ratios(const std::vector<double>& ours, const std::vector<double>& theirs) {
  std::vector<double> result;
  for (std::size_t i = 0; i < ours.size(); ++i)
    result.push_back(ours[i] / theirs[i]);
  return result;
}

// Percentage of forks whose halves ran on two threads.
double on_two_threads(const Contender& contender) {
  constexpr int forks = 5000;
  int two = 0;
  wait_until_quiescent();
  for (int i = 0; i < forks; ++i) {
    Halves halves;
    contender.fork_join_noting(halves);
    two += halves[0] != halves[1] ? 1 : 0;
  }
  return 100.0 * two / forks;
}

// A rendezvous for the two halves of a fork: each waits for the other, for at most a millisecond.
class Meeting {
 public:
  void arrive() {
    // Two arrivals per fork: the first makes the count odd, the second even.
    const std::int64_t arrival = arrivals_.fetch_add(1) + 1;
    const std::int64_t both = arrival + arrival % 2;
    static_cast<void>(pool::spin_until([&] { return arrivals_.load() >= both; }, 1'000'000));
  }

 private:
  std::atomic<std::int64_t> arrivals_ = 0;
};

// CPU seconds per second that the process uses without forks, after the linger has ended.
double idle_cpu() {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const double before = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
  const std::int64_t start = now_ns();
  std::this_thread::sleep_for(std::chrono::seconds(2));
  return (cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - before) / seconds(now_ns() - start);
}

double clock_cost_ns() {
  constexpr int readings = 100'000;
  const std::int64_t start = now_ns();
  for (int i = 1; i < readings; ++i)
    static_cast<void>(now_ns());
  return static_cast<double>(now_ns() - start) / readings;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = count_argument(argc, argv, 1, 60);
  const int forks = count_argument(argc, argv, 2, 5000);
  if (rounds < 1 || forks < 1) {
    fmt::print(stderr, "usage: fork_join_compare [rounds] [forks per batch], both whole numbers from 1\n");
    return 2;
  }
  auto made = pool::WorkerPool::create(2);
  if (!made) {
    fmt::print(stderr, "{}\n", made.error().message);
    return 1;
  }
  pool::WorkerPool& workers = **made;
  fmt::print("idle pool of 2: {:.6f} CPU seconds per second\n", idle_cpu());

  pool::PoolTeam team = workers.team();
  tbb::task_arena arena(2);
  Meeting meeting;
  tbb::affinity_partitioner affinity;
  const std::vector<Contender> contenders{
      contender("WorkerPool",
                [&](auto body) {
                  // The body cannot fail, but check the status as a user would.
                  if (!team.run([&](int rank) { body(static_cast<std::size_t>(rank)); })) std::abort();
                }),
      contender("libgomp",
                [](auto body) {
#pragma omp parallel num_threads(2)
                  body(static_cast<std::size_t>(omp_get_thread_num()));
                }),
      contender("TBB simple",
                [&](auto body) {
                  arena.execute([&] {
                    tbb::parallel_for(
                        tbb::blocked_range<std::size_t>(0, 2, 1),
                        [&](const auto& range) { body(range.begin()); }, tbb::simple_partitioner());
                  });
                }),
      contender("TBB static",
                [&](auto body) {
                  arena.execute([&] {
                    tbb::parallel_for(
                        tbb::blocked_range<std::size_t>(0, 2, 1),
                        [&](const auto& range) { body(range.begin()); }, tbb::static_partitioner());
                  });
                }),
      contender("TBB affinity",
                [&](auto body) {
                  arena.execute([&] {
                    tbb::parallel_for(
                        tbb::blocked_range<std::size_t>(0, 2, 1),
                        [&](const auto& range) { body(range.begin()); }, affinity);
                  });
                }),
      contender("TBB group",
                [&](auto body) {
                  arena.execute([&] {
                    tbb::task_group group;
                    group.run([&] { body(std::size_t{0}); });
                    body(std::size_t{1});
                    group.wait();
                  });
                }),
      contender("TBB meeting",
                [&](auto body) {
                  arena.execute([&] {
                    tbb::task_group group;
                    group.run([&] {
                      body(std::size_t{0});
                      meeting.arrive();
                    });
                    body(std::size_t{1});
                    meeting.arrive();
                    group.wait();
                  });
                }),
  };

  std::vector<Series> series(contenders.size());
  std::vector<std::size_t> order(contenders.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::mt19937 random(1);
  for (int round = 0; round < rounds; ++round) {
    std::ranges::shuffle(order, random);
    for (const std::size_t i : order) {
      const Percentiles measured = measure(contenders[i], forks);
      series[i].median.push_back(measured.median);
      series[i].p99.push_back(measured.p99);
    }
  }

  fmt::print("fork-join of an empty body on 2 threads, warm: {} rounds of {} forks each; median [quartiles] "
             "over the "
             "rounds; a reading of the clock costs {:.0f} ns\n\n",
             rounds, forks, clock_cost_ns());
  fmt::print("{:<13} {:>24} {:>27} {:>26} {:>26} {:>12}\n", "", "median, ns", "99th percentile, ns",
             "WorkerPool's median / its", "WorkerPool's p99 / its", "2 threads, %");
  for (std::size_t i = 0; i < contenders.size(); ++i)
    fmt::print("{:<13} {:>24} {:>27} {:>26} {:>26} {:>12.1f}\n", contenders[i].name,
               spread(series[i].median, "{:.0f}"), spread(series[i].p99, "{:.0f}"),
               spread(ratios(series[0].median, series[i].median), "{:.2f}"),
               spread(ratios(series[0].p99, series[i].p99), "{:.2f}"), on_two_threads(contenders[i]));
  return 0;
}
