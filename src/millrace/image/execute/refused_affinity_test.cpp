// Tests the executor when the kernel refuses to pin threads, and when it does not.
#include "millrace/image/execute/executor.h"
#include "millrace/image/execute/plane_buffer.h"
#include "millrace/image/pipeline/presets.h"
#include "millrace/machine/thread/refused_calls_testing.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace millrace::image {
namespace {

using machine::AffinityArrangement;
using machine::CpuSet;
using testing::HasSubstr;

constexpr int pool_workers = 2;

// Everything that a stream of gray frames needs. Made inside the test, because a system call filter applies
// only to threads made after it.
struct Stream {
  explicit Stream(Size size)
      : topology(*machine::Topology::live()), pool(*pool::WorkerPool::create(pool_workers)),
        usable(machine::current_thread_affinity().value()), executor(*pool, library, topology, usable),
        layout(*lay_out_frame(*load_pipeline("@A"),
                              {.width = size.width, .height = size.height, .chroma = video::Chroma::gray},
                              Planes::all, Samples::floats)),
        source(size, ElementType::f32), target(layout.planes[0].output.size, ElementType::f32),
        task{{source.view()}, {target.view()}} {}

  machine::Topology topology;
  KernelLibrary library;
  std::unique_ptr<pool::WorkerPool> pool;
  CpuSet usable;
  Executor executor;
  FrameLayout layout;
  PlaneBuffer source;
  PlaneBuffer target;
  FrameTask task;
};

Schedule schedule_with(AffinityArrangement affinity) {
  return {.structure = Structure::sequential,
          .fusion = Fusion::none,
          .threads = pool_workers,
          .affinity = affinity,
          .isa = machine::best_isa()};
}

class RefusedAffinity : public testing::Test {
 protected:
  void SetUp() override {
    if (machine::current_thread_affinity().value().count() < pool_workers) GTEST_SKIP() << "needs two CPUs";
  }
};

TEST_F(RefusedAffinity, theExecutorGoesOnUnboundSaysSoAndAsksOnce) {
  machine::expect_where_refused({SYS_sched_setaffinity}, [] {
    Stream stream({64, 48});
    ASSERT_TRUE(stream.executor.set(stream.layout, schedule_with(AffinityArrangement::pinned)));
    EXPECT_EQ(stream.executor.in_use(), schedule_with(AffinityArrangement::free));
    ASSERT_TRUE(stream.executor.run({&stream.task, 1}));
    EXPECT_EQ(stream.executor.refused().size(), 1U);
    EXPECT_THAT(stream.executor.refused().at(AffinityArrangement::pinned), HasSubstr("not permitted"));
    const auto switches = stream.executor.switches();
    ASSERT_TRUE(stream.executor.use(schedule_with(AffinityArrangement::pinned)));
    EXPECT_EQ(stream.executor.switches(), switches) << "it is the schedule in use";
    ASSERT_TRUE(stream.executor.use(schedule_with(AffinityArrangement::io_same)));
    ASSERT_TRUE(stream.executor.run({&stream.task, 1}));
    EXPECT_EQ(stream.executor.refused().size(), 2U);
    EXPECT_TRUE(stream.executor.io_cpus().empty());
    EXPECT_THAT(stream.pool->granted(), testing::Each(stream.usable));
  });
}

// Affinity masks of this process's threads, except those in `known`.
std::set<std::string> masks_of_others(const std::set<std::string>& known) {
  std::set<std::string> masks;
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", gone)) {
    if (known.contains(thread.path().filename())) continue;
    std::ifstream status(thread.path() / "status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("Cpus_allowed_list:")) masks.insert(line.substr(line.find_last_of(" \t") + 1));
  }
  return masks;
}

TEST_F(RefusedAffinity, threadsMadeAnewObeyAnAffinityThatIsGranted) {
  Stream stream({1280, 720});
  Schedule schedule = schedule_with(AffinityArrangement::pinned);
  schedule.fresh_threads = true;
  ASSERT_TRUE(stream.executor.set(stream.layout, schedule));
  const CpuSet wanted = stream.pool->granted().front();  // the leader, which is pinned too, has the last rank
  ASSERT_NE(wanted, stream.pool->granted().back());
  std::atomic<bool> ended = false;
  std::set<std::string> known;
  std::thread watcher;
  std::set<std::string> seen;
  std::atomic<bool> found = false;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
    known.insert(thread.path().filename());
  std::atomic<pid_t> watching = 0;
  watcher = std::thread([&] {
    watching = gettid();
    known.insert(std::to_string(gettid()));
    while (!ended) {
      seen.merge(masks_of_others(known));
      if (seen.contains(wanted.to_string())) found = true;
    }
  });
  while (watching == 0)
    std::this_thread::yield();
  Status done;
  for (int frame = 0; frame < 300 && !found && done; ++frame)
    done = stream.executor.run({&stream.task, 1});
  ended = true;
  watcher.join();
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_TRUE(found) << "new threads ran on " << testing::PrintToString(seen);
}

}  // namespace
}  // namespace millrace::image
