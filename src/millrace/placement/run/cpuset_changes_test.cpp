#include "millrace/base/testing/eventually_testing.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/placement/run/program_testing.h"
#include "millrace/placement/task/control_group_testing.h"
#include "millrace/placement/task/forked_process_testing.h"

#include <algorithm>
#include <csignal>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;

// A program whose cpuset changes while it runs, and how its threads are pinned.
class ChangingCpuset : public testing::TestWithParam<BirthWay> {
 protected:
  void SetUp() override {
    if (all_.count() < 2) GTEST_SKIP() << "one CPU leaves nothing to narrow";
    auto made = TestingGroup::make("cpuset");
    if (!made) GTEST_SKIP() << "this user may make no cpuset";
    cpuset_.emplace(std::move(*made));
    ASSERT_TRUE(cpuset_->allow(all_));
  }
  // True if all its threads have the mask.
  static bool all_have(pid_t program, const CpuSet& mask) {
    const auto threads = list_threads(program);
    return std::ranges::all_of(threads,
                               [&](pid_t thread) { return machine::thread_affinity(thread) == mask; });
  }
  [[nodiscard]] RunSettings on_first(std::vector<std::string> command) const {
    RunSettings settings = fixed(MaskPolicy::none, GetParam(), std::move(command));
    settings.policy = cpu_list_policy({all_.first(1)});
    settings.masks = MasksNeed::topology;
    return settings;
  }

  const CpuSet all_ = machine::current_thread_affinity().value();
  const CpuSet first_ = all_.first(1);
  const CpuSet rest_ = all_ - first_;
  std::optional<TestingGroup> cpuset_;
};

// The kernel remembers masks and applies them again as soon as it can. No mask of millrace's may remain.
TEST_P(ChangingCpuset, LeavesNoMaskBehindThatComesBackOnceItGrows) {
  const ForkedProcess program([] {
    static const bool once = [] {
      std::thread([] { pause(); }).detach();
      return true;
    }();
    static_cast<void>(once);
    pause();
  });
  ASSERT_TRUE(cpuset_->take_in(program.number()));
  ASSERT_TRUE(eventually([&] { return list_threads(program.number()).size() == 2; }));
  RunSettings settings = on_first({});
  settings.attach = program.number();
  TestProcess process(settings);
  ASSERT_TRUE(eventually([&] { return all_have(program.number(), first_); }));
  ASSERT_TRUE(cpuset_->allow(rest_));
  EXPECT_TRUE(eventually([&] { return all_have(program.number(), rest_); }));
  kill(process.process(), SIGINT);
  EXPECT_TRUE(process.finish().summary.threads.left_alone.empty());
  EXPECT_TRUE(all_have(program.number(), rest_));
  ASSERT_TRUE(cpuset_->allow(all_));
  EXPECT_TRUE(all_have(program.number(), all_)) << "as a program that nobody touched";
}

TEST_P(ChangingCpuset, HasItsThreadsPlacedAnewOnWhatIsOpenThen) {
  TestProcess process(
      fixed(MaskPolicy::one_to_one, GetParam(), {testing_program("dynamic", "threads"), "2", "60"}), [this] {
        if (!cpuset_->take_in(getpid())) _exit(1);
      });
  ASSERT_TRUE(process.wait_for_output("thread 1"));
  const pid_t program = process.program();
  ASSERT_NE(program, 0);
  const auto masks = [&] {
    std::set<std::string> found;
    for (const pid_t thread : list_threads(program))
      if (thread != program) found.insert(machine::thread_affinity(thread).value_or(CpuSet()).to_string());
    return found;
  };
  // Two threads on two CPUs, each on its own.
  const auto are_apart = [&] { return masks().size() == 2; };
  ASSERT_TRUE(eventually(are_apart));
  ASSERT_TRUE(cpuset_->allow(first_));
  EXPECT_TRUE(eventually([&] { return all_have(program, first_); }));
  ASSERT_TRUE(cpuset_->allow(all_));
  EXPECT_TRUE(eventually(are_apart));
  ASSERT_TRUE(cpuset_->allow(rest_));
  kill(program, SIGTERM);
  const TestRun run = process.finish();
  EXPECT_EQ(run.status, 128 + SIGTERM) << run.errors;
  EXPECT_TRUE(run.summary.threads.left_alone.empty()) << "none has looked after its own mask";
}

INSTANTIATE_TEST_SUITE_P(Ways, ChangingCpuset, testing::Values(BirthWay::ptrace, BirthWay::polling),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

}  // namespace
}  // namespace millrace::placement
