#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/machine/topology/topology.h"
#include "millrace/placement/run/program_testing.h"
#include "millrace/placement/task/control_group_testing.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;

// The upper half of the CPUs that this test may use.
CpuSet narrow() {
  CpuSet cpus = machine::current_thread_affinity().value();
  cpus -= cpus.first((cpus.count() + 1) / 2);
  return cpus;
}

class ProgramInCpuset : public testing::TestWithParam<BirthWay> {
 protected:
  void SetUp() override {
    if (narrow().empty()) GTEST_SKIP() << "one CPU leaves nothing to narrow";
    auto made = TestingGroup::make("cpuset");
    if (!made) GTEST_SKIP() << "this user may make no cpuset";
    cpuset_.emplace(std::move(*made));
    ASSERT_TRUE(cpuset_->allow(narrow()));
  }
  std::optional<TestingGroup> cpuset_;
};

// As many threads as cores; more would share cores.
TEST_P(ProgramInCpuset, IsPlacedWithinIt) {
  const auto topology = machine::Topology::live();
  ASSERT_TRUE(topology) << topology.error().message;
  const auto count =
      std::ranges::count_if(topology->cores(), [](const CpuSet& core) { return core.intersects(narrow()); });
  const auto settings = fixed(MaskPolicy::one_to_one, GetParam(),
                              {testing_program("dynamic", "threads"), std::to_string(count), "0.3"});
  TestProcess process(settings, [this] {
    if (!cpuset_->take_in(getpid())) _exit(1);
  });
  const TestRun run = process.finish();
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_EQ(run.summary.threads.refused, 0);
  std::istringstream lines(run.output);
  CpuSet used;
  int threads = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto mask = CpuSet::parse(line.substr(line.rfind(' ') + 1));
    ASSERT_TRUE(mask) << line;
    EXPECT_TRUE(narrow().contains_all(*mask)) << line;
    if (line.starts_with("main")) {
      EXPECT_EQ(*mask, narrow());
      continue;
    }
    used |= *mask;
    if (GetParam() != BirthWay::polling) {
      EXPECT_EQ(mask->count(), 1) << line;
    }
    ++threads;
  }
  EXPECT_EQ(threads, count);
  for (const CpuSet& core : topology->cores())
    EXPECT_EQ(used.intersects(core), narrow().intersects(core)) << core.to_string();
}

TEST_P(ProgramInCpuset, ThatCameWhileItRanEndsAsItWouldAndStaysWithinIt) {
  const int count = machine::current_thread_affinity()->count();
  TestProcess process(fixed(MaskPolicy::one_to_one, GetParam(),
                            {testing_program("dynamic", "threads"), std::to_string(count), "60"}));
  ASSERT_TRUE(process.wait_for_output(fmt::format("thread {}", count - 1)));
  const pid_t program = process.program();
  ASSERT_NE(program, 0);
  ASSERT_TRUE(cpuset_->take_in(program));
  const auto all_within = [&] {
    for (const pid_t thread : list_threads(program))
      if (const auto mask = machine::thread_affinity(thread); mask && !narrow().contains_all(*mask))
        return false;
    return true;
  };
  EXPECT_TRUE(all_within());
  // Meanwhile it is observed several times and its policy is applied.
  constexpr useconds_t several_observations_us = 700'000;
  usleep(several_observations_us);
  EXPECT_TRUE(all_within());
  kill(program, SIGTERM);
  const TestRun run = process.finish();
  EXPECT_EQ(run.status, 128 + SIGTERM) << run.errors;
}

INSTANTIATE_TEST_SUITE_P(Ways, ProgramInCpuset, testing::Values(BirthWay::ptrace, BirthWay::polling),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

}  // namespace
}  // namespace millrace::placement
