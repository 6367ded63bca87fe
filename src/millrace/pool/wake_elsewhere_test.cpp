#include "millrace/base/testing/eventually_testing.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/pool/shared_workers.h"
#include "millrace/pool/wake_elsewhere.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <latch>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace millrace::pool {
namespace {

machine::CpuSet own_cpus() { return *machine::current_thread_affinity(); }

// A thread that calls `first` and then sleeps until destruction.
class Sleeper {
 public:
  template <class First>
  explicit Sleeper(First first)
      : thread_([this, first] {
          first();
          wakeable_ = Wakeable::here();
          ready_.count_down();
          done_.wait();
        }) {
    ready_.wait();
  }
  Sleeper() : Sleeper([] {}) {}
  ~Sleeper() {
    done_.count_down();
    thread_.join();
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  [[nodiscard]] const Wakeable& wakeable() const { return wakeable_; }
  [[nodiscard]] machine::CpuSet cpus() const { return *machine::thread_affinity(wakeable_.thread); }

 private:
  Wakeable wakeable_;
  std::latch ready_{1};
  std::latch done_{1};
  std::thread thread_;
};

machine::CpuSet without(machine::CpuSet cpus, int cpu) {
  cpus.erase(cpu);
  return cpus;
}

TEST(WakeElsewhere, KeepsAThreadOffOneCpuForAsLongAsItLives) {
  const machine::CpuSet all = own_cpus();
  const Sleeper sleeper;
  EXPECT_EQ(sleeper.cpus(), all);
  for (const int cpu : all) {
    {
      const KeptOff elsewhere(sleeper.wakeable(), cpu);
      const bool can = all.count() > 1 && sleeper.wakeable().cpus != 0;
      EXPECT_EQ(sleeper.cpus(), can ? without(all, cpu) : all);
    }
    EXPECT_EQ(sleeper.cpus(), all);
  }
}

TEST(WakeElsewhere, LeavesThreadsAloneThatSomebodyHasBound) {
  const machine::CpuSet all = own_cpus();
  if (all.count() < 2) GTEST_SKIP() << "there is one CPU";
  const machine::CpuSet first({all.lowest()});
  const Sleeper bound_before([&] { EXPECT_TRUE(machine::bind_current_thread(first)); });
  EXPECT_EQ(bound_before.wakeable().cpus, 0U);
  EXPECT_EQ(bound_before.cpus(), first);
  const Sleeper bound_later;
  ASSERT_TRUE(machine::bind_thread(bound_later.wakeable().thread, first));
  for (const Sleeper* sleeper : {&bound_before, &bound_later}) {
    const KeptOff elsewhere(sleeper->wakeable(), all.lowest());
    EXPECT_EQ(sleeper->cpus(), first);
  }
  EXPECT_EQ(bound_before.cpus(), first);
  EXPECT_EQ(bound_later.cpus(), first);
}

TEST(WakeElsewhere, HasNoEffectOnThreadsAndCpusThatThereAreNot) {
  const Sleeper sleeper;
  const machine::CpuSet all = own_cpus();
  for (const int cpu : {-1, 8191, 100'000}) {
    const KeptOff elsewhere(sleeper.wakeable(), cpu);
    EXPECT_EQ(sleeper.cpus(), all);
  }
  const KeptOff nobody({.thread = 0x3fff'fff0, .cpus = sleeper.wakeable().cpus}, all.lowest());
  const KeptOff unknown({}, all.lowest());
  EXPECT_EQ(own_cpus(), all);
}

// Helpers that sleep between the runs, with a leader that moves from CPU to CPU.
TEST(WakeElsewhere, LeavesHelpersWithTheCpusThatTheyHad) {
  const machine::CpuSet all = own_cpus();
  auto workers = SharedWorkers::create(3, 0);
  ASSERT_TRUE(workers) << workers.error().message;
  const machine::AffinityGuard own;
  for (int round = 0; round < 60; ++round) {
    ASSERT_TRUE(machine::bind_current_thread(
        machine::CpuSet({all.to_vector()[static_cast<std::size_t>(round % all.count())]})));
    std::atomic<int> ranks = 0;
    const Status done = (*workers)->run(
        3,
        [&](Team& team) {
          return team.run([&](int) {
            ++ranks;
            std::this_thread::sleep_for(std::chrono::microseconds(200));
          });
        },
        WakeUp::elsewhere);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(ranks, 3);
  }
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const auto thread = static_cast<pid_t>(std::stol(entry.path().filename()));
    if (thread == static_cast<pid_t>(syscall(SYS_gettid))) continue;
    EXPECT_TRUE(eventually([&] {
      const auto cpus = machine::thread_affinity(thread);
      return !cpus || *cpus == all;
    })) << thread;
  }
}

}  // namespace
}  // namespace millrace::pool
