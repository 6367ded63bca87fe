// Makes the kernel refuse system calls to a process, as hardened units and containers do.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <vector>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

namespace millrace::machine {

// From now on, these calls (SYS_...) fail with EPERM in the calling thread and in threads that it creates.
// This cannot be undone, so call it in a dedicated process. Returns whether the kernel accepted the filter.
[[nodiscard]] inline bool refuse_system_calls(std::initializer_list<long> calls) {
  // The system call number is the first word of the filter's input.
  std::vector<sock_filter> program{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)};
  for (const long call : calls) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{.len = static_cast<unsigned short>(program.size()), .filter = program.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// Runs `checks` (GoogleTest expectations) in a process to which the kernel refuses `calls`.
template <class Checks> void expect_where_refused(std::initializer_list<long> calls, Checks&& checks) {
  EXPECT_EXIT(
      {
        if (!refuse_system_calls(calls)) {
          std::fprintf(stderr, "the filter was not accepted\n");
          std::_Exit(2);
        }
        checks();
        std::fflush(stdout);
        std::_Exit(testing::Test::HasFailure() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace millrace::machine
