// Measures the frame time of x264's low-latency threading structure, as described in the 2012 report to the
// kernel developers. Compares WorkerPool, oneTBB, OpenMP and threads with condition variables, under the
// scheduling classes other and batch.
//
//   frame_structure_compare [rounds] [frames] [threads]
//
// A frame with X threads consists of 0.5 ms of serial preprocessing, while the previous frame's tails still
// run; X analyses of 0.5 ms; the wait for those tails; and X encodings of 3 ms. The frame ends for the caller
// with the encodings, while X tails of 1 ms continue. A job is calibrated to a fixed amount of work, so it
// takes longer if it must wait for a processor. In a fork-join pool no job outlives its fork, so there the
// tails are forked together with the next frame's preprocessing.
//
// Each measurement is a separate process, so that one runtime's threads do not disturb another's. Each round
// runs all of them in random order. Prints the medians over the rounds of each round's median and 99th
// percentile.
#include "millrace/base/error/clock.h"
#include "millrace/base/numbers/median.h"
#include "millrace/base/text/count_argument.h"
#include "millrace/machine/thread/scheduling_attributes.h"
#include "millrace/pool/worker_pool.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <omp.h>
#include <random>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <sys/wait.h>

namespace {

using namespace millrace;

constexpr double preprocessing_ms = 0.5;
constexpr double analysis_ms = 0.5;
constexpr double encoding_ms = 3;
constexpr double tail_ms = 1;
constexpr int warm_up = 10;

void compute(std::int64_t steps) {
  std::uint64_t value = 1;
  for (std::int64_t i = 0; i < steps; ++i) {
    value = value * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(value));  // NOLINT(hicpp-no-assembler): keeps every step
  }
}

// The shortest of several tries: the time of the steps without disturbance.
double steps_per_ms() {
  constexpr std::int64_t steps = 2'000'000;
  std::int64_t best = INT64_MAX;
  for (int i = 0; i < 15; ++i) {
    const std::int64_t start = now_ns();
    compute(steps);
    best = std::min(best, now_ns() - start);
  }
  return static_cast<double>(steps) / (static_cast<double>(best) * 1e-6);
}

struct Jobs {
  double per_ms = 0;
  void operator()(double ms) const { compute(static_cast<std::int64_t>(ms * per_ms)); }
};

using Times = std::vector<double>;

// Calls frame() and records the duration of each call in ms.
template <class Frame> Times timed(int frames, Frame frame) {
  Times times;
  for (int i = -warm_up; i < frames; ++i) {
    const std::int64_t start = now_ns();
    frame();
    if (i >= 0) times.push_back(static_cast<double>(now_ns() - start) * 1e-6);
  }
  return times;
}

Times with_pool(int frames, int threads, Jobs job) {
  auto made = pool::WorkerPool::create(threads);
  if (!made) std::abort();
  pool::PoolTeam team = (*made)->team();
  bool tails = false;
  const auto fork = [&](auto fn) {
    if (!team.run(fn)) std::abort();
  };
  return timed(frames, [&] {
    fork([&](int rank) {
      if (rank == threads - 1) job(preprocessing_ms);
      if (tails) job(tail_ms);
    });
    fork([&](int) { job(analysis_ms); });
    fork([&](int) { job(encoding_ms); });
    tails = true;
  });
}

Times with_tbb(int frames, int threads, Jobs job) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(threads));
  tbb::task_arena arena(threads);
  Times times;
  arena.execute([&] {
    tbb::task_group tails;
    times = timed(frames, [&] {
      job(preprocessing_ms);
      tbb::task_group analyses;
      for (int i = 0; i < threads; ++i)
        analyses.run([&] { job(analysis_ms); });
      analyses.wait();
      tails.wait();
      tbb::task_group encodings;
      for (int i = 0; i < threads; ++i)
        encodings.run([&] { job(encoding_ms); });
      encodings.wait();
      for (int i = 0; i < threads; ++i)
        tails.run([&] { job(tail_ms); });
    });
    tails.wait();
  });
  return times;
}

Times with_openmp(int frames, int threads, Jobs job) {
  Times times;
#pragma omp parallel num_threads(threads) shared(times)
#pragma omp single
  times = timed(frames, [&] {
    // The previous frame's tails and the analyses are both children of this task. Task groups keep them
    // apart.
    job(preprocessing_ms);
#pragma omp taskgroup
    for (int i = 0; i < threads; ++i) {
#pragma omp task firstprivate(job)
      job(analysis_ms);
    }
#pragma omp taskwait
#pragma omp taskgroup
    for (int i = 0; i < threads; ++i) {
#pragma omp task firstprivate(job)
      job(encoding_ms);
    }
    for (int i = 0; i < threads; ++i) {
#pragma omp task firstprivate(job)
      job(tail_ms);
    }
  });
  return times;
}

// Threads that take jobs from a queue and wait on condition variables, as in x264.
class Threads {
 public:
  explicit Threads(int count) {
    for (int i = 0; i < count; ++i)
      threads_.emplace_back([this] { serve(); });
  }
  ~Threads() {
    {
      const std::lock_guard lock(mutex_);
      end_ = true;
    }
    work_.notify_all();
    for (std::thread& thread : threads_)
      thread.join();
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  void add(int* left, std::function<void()> job) {
    {
      const std::lock_guard lock(mutex_);
      ++*left;
      jobs_.emplace_back(left, std::move(job));
    }
    work_.notify_one();
  }
  void wait(const int* left) {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return *left == 0; });
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      work_.wait(lock, [this] { return end_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      auto [left, job] = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      lock.lock();
      if (--*left == 0) done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable done_;
  std::deque<std::pair<int*, std::function<void()>>> jobs_;
  bool end_ = false;
  std::vector<std::thread> threads_;
};

Times with_threads(int frames, int threads, Jobs job) {
  Threads pool(threads);
  int analyses = 0;
  int encodings = 0;
  int tails = 0;
  Times times = timed(frames, [&] {
    job(preprocessing_ms);
    for (int i = 0; i < threads; ++i)
      pool.add(&analyses, [&] { job(analysis_ms); });
    pool.wait(&analyses);
    pool.wait(&tails);
    // Each slice's thread reports completion and continues with its tail.
    for (int i = 0; i < threads; ++i)
      pool.add(&encodings, [&] {
        job(encoding_ms);
        pool.add(&tails, [&] { job(tail_ms); });
      });
    pool.wait(&encodings);
  });
  pool.wait(&tails);
  return times;
}

struct Contender {
  std::string_view name;
  Times (*run)(int frames, int threads, Jobs job);
};
constexpr std::array contenders{Contender{"WorkerPool", with_pool}, Contender{"oneTBB", with_tbb},
                                Contender{"OpenMP", with_openmp}, Contender{"std::thread", with_threads}};
constexpr std::array classes{machine::SchedulingClass::other, machine::SchedulingClass::batch};

double quantile(Times values, double q) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

struct Outcome {
  double median = 0;
  double p99 = 0;
};

// Runs in a separate process; returns false on failure.
bool measure(const Contender& contender, machine::SchedulingClass scheduling_class, int frames, int threads,
             double per_ms, Outcome& outcome) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return false;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    close(ends[0]);
    if (!machine::change_scheduling(0, {.scheduling_class = scheduling_class})) _exit(1);
    const Times times = contender.run(frames, threads, Jobs{per_ms});
    const Outcome found{quantile(times, 0.5), quantile(times, 0.99)};
    _exit(write(ends[1], &found, sizeof found) == sizeof found ? 0 : 1);
  }
  close(ends[1]);
  const bool told = read(ends[0], &outcome, sizeof outcome) == sizeof outcome;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return told && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = count_argument(argc, argv, 1, 7);
  const int frames = count_argument(argc, argv, 2, 200);
  const int threads = count_argument(argc, argv, 3, 4);
  if (rounds < 1 || frames < 1 || threads < 1 || argc > 4) {
    fmt::print(stderr, "usage: frame_structure_compare [rounds] [frames] [threads], whole numbers from 1\n");
    return 2;
  }
  const double per_ms = steps_per_ms();
  struct Turn {
    std::size_t contender;
    std::size_t scheduling_class;
  };
  std::vector<Turn> turns;
  for (std::size_t i = 0; i < contenders.size(); ++i)
    for (std::size_t k = 0; k < classes.size(); ++k)
      turns.push_back({i, k});
  std::map<std::pair<std::size_t, std::size_t>, std::pair<Times, Times>> outcomes;
  std::mt19937 random(1);
  for (int round = 0; round < rounds; ++round) {
    std::ranges::shuffle(turns, random);
    for (const auto& [i, k] : turns) {
      Outcome outcome;
      if (!measure(contenders[i], classes[k], frames, threads, per_ms, outcome)) {
        fmt::print(stderr, "{} under {} failed\n", contenders[i].name, machine::name_of(classes[k]));
        return 1;
      }
      auto& [medians, tails] = outcomes[{i, k}];
      medians.push_back(outcome.median);
      tails.push_back(outcome.p99);
    }
  }
  const auto cpus = static_cast<int>(std::thread::hardware_concurrency());
  const int busy = std::min(threads, std::max(1, cpus));
  fmt::print("{} rounds of {} frames, {} threads on {} CPUs; ms a frame. Nobody waiting, a frame takes "
             "{:.2f} ms.\n\n",
             rounds, frames, threads, cpus,
             std::max(preprocessing_ms + (analysis_ms + encoding_ms) * threads / busy,
                      (preprocessing_ms + (analysis_ms + encoding_ms + tail_ms) * threads) / busy));
  fmt::print("| | class | median | 99th percentile |\n|---|---|---|---|\n");
  for (std::size_t i = 0; i < contenders.size(); ++i)
    for (std::size_t k = 0; k < classes.size(); ++k) {
      const auto& [medians, tails] = outcomes[{i, k}];
      fmt::print("| {} | {} | {:.2f} | {:.2f} |\n", contenders[i].name, machine::name_of(classes[k]),
                 median(medians), median(tails));
    }
  return 0;
}
