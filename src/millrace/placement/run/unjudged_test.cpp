#include "millrace/placement/run/program_testing.h"

#include <cerrno>
#include <cstddef>
#include <iterator>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

namespace millrace::placement {
namespace {

using testing::HasSubstr;

// As on a processor without counters, or without permission to use them.
void refuse_counters() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = std::size(filter), .filter = filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

TEST(Unjudged, WhatNothingTellsOfIsLeftAloneAndTheNoteNamesTheCommandToLearn) {
  RunSettings settings;
  settings.command = {testing_program("dynamic", "threads"), "2", "2"};
  const TestRun run = TestProcess(settings, refuse_counters).finish();
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.summary.notes, testing::Contains(HasSubstr("nothing tells how far it gets")));
  EXPECT_THAT(run.summary.notes,
              testing::Contains(HasSubstr("millrace exec --learn 60 -- " + settings.command.front())));
  EXPECT_EQ(run.summary.threads.changes, 0);
  EXPECT_EQ(run.summary.progress, std::nullopt);
}

}  // namespace
}  // namespace millrace::placement
