#include "millrace/base/process/run_guarded.h"
#include "millrace/base/text/print.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

int ended_by(const std::function<int()>& work) { return run_guarded("prog", work); }

TEST(RunGuarded, GivesTheCodeOfTheWork) {
  EXPECT_EQ(ended_by([] { return 0; }), 0);
  EXPECT_EQ(ended_by([] { return 130; }), 130);
}

TEST(RunGuarded, MakesOneLineOfWhatIsThrown) {
  struct Thrown {
    std::function<int()> work;
    const char* line;
  };
  const Thrown all[]{
      {[]() -> int { throw std::bad_alloc(); }, "prog: out of memory; "},
      {[]() -> int {
         throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
       },
       "prog: no thread can be made; "},
      {[]() -> int { throw std::system_error(std::make_error_code(std::errc::operation_not_permitted)); },
       "prog: no thread may be made here; "},
      {[]() -> int { throw std::runtime_error("a\nreason"); }, "prog: a\\x0areason"},
      {[]() -> int { throw 1; }, "prog: ended by an unknown exception"},
  };
  for (const Thrown& one : all) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(ended_by(one.work), 1);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, testing::StartsWith(one.line));
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
  }
}

TEST(RunGuarded, FailsWhereStandardOutputTookNotAll) {
  EXPECT_EXIT(
      {
        static_cast<void>(std::freopen("/dev/full", "w", stdout));
        std::_Exit(ended_by([] {
          for (int i = 0; i < 10000; ++i)
            print_out("{} more than a buffer holds\n", i);
          return 0;
        }));
      },
      testing::ExitedWithCode(1), "prog: standard output cannot be written");
}

TEST(RunGuarded, KeepsClosedStandardStreamsFromBeingTakenByFiles) {
  EXPECT_EXIT(
      {
        for (const int stream : {STDIN_FILENO, STDOUT_FILENO})
          close(stream);
        std::_Exit(ended_by([] {
          char byte = 0;
          const bool useless = read(STDIN_FILENO, &byte, 1) < 0 && write(STDOUT_FILENO, &byte, 1) < 0;
          const bool closed_for_others = (fcntl(STDOUT_FILENO, F_GETFD) & FD_CLOEXEC) != 0;
          return useless && closed_for_others && open("/dev/null", O_RDONLY) > STDERR_FILENO ? 7 : 8;
        }));
      },
      testing::ExitedWithCode(7), "");
}

TEST(Notes, AreLostWithoutHarmWhereStandardErrorTakesNothing) {
  EXPECT_EXIT(
      {
        const int full = open("/dev/full", O_WRONLY);
        dup2(full, STDERR_FILENO);
        print_note("{}\n", "nobody reads this");
        close(STDERR_FILENO);
        print_note("{}\n", "nor this");
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace millrace
