#include "millrace/machine/thread/refused_calls_testing.h"
#include "millrace/placement/run/program_testing.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace millrace::placement {
namespace {

class RefusedWait : public testing::TestWithParam<BirthWay> {};

TEST_P(RefusedWait, LetsTheProgramRunWithoutMillraceAndGivesItsExitCode) {
  TestProcess process(fixed(MaskPolicy::none, GetParam(), {"/bin/sh", "-c", "exit 5"}), [] {
    if (!machine::refuse_system_calls({SYS_wait4})) _exit(1);
  });
  const TestRun run = process.finish();
  EXPECT_EQ(run.status, 5) << run.errors;
  EXPECT_THAT(run.errors, testing::HasSubstr("not permitted here (wait4"));
}

INSTANTIATE_TEST_SUITE_P(Ways, RefusedWait,
                         testing::Values(BirthWay::any, BirthWay::ptrace, BirthWay::polling),
                         [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
}  // namespace millrace::placement
