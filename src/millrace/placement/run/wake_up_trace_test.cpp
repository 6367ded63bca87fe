#include "millrace/base/testing/eventually_testing.h"
#include "millrace/placement/run/wake_up_trace.h"

#include <cstring>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

using testing::HasSubstr;

constexpr auto* kernel_format = "name: sched_waking\nID: 375\nformat:\n"
                                "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                                "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
                                "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
                                "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                                "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
                                "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
                                "\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n";

std::vector<std::byte> record_of(unsigned flags, pid_t woken, const char* name) {
  std::vector<std::byte> record(36);
  record[2] = static_cast<std::byte>(flags);
  std::memcpy(record.data() + 8, name, std::min<std::size_t>(std::strlen(name), 16));
  std::memcpy(record.data() + 24, &woken, sizeof(woken));
  return record;
}

TEST(WakeUpTrace, FindsFieldsWhereTheKernelSaysTheyAre) {
  const auto format = WakingFormat::parse(kernel_format);
  ASSERT_TRUE(format);
  EXPECT_EQ(format->flags, 2U);
  EXPECT_EQ(format->name, 8U);
  EXPECT_EQ(format->woken, 24U);
  EXPECT_FALSE(WakingFormat::parse("field:int pid;\toffset:4;"));
  EXPECT_FALSE(WakingFormat::parse(""));
}

TEST(WakeUpTrace, RecordsTellWhoIsWokenAndWhetherByAnInterrupt) {
  const auto format = WakingFormat::parse(kernel_format).value();
  for (const auto& [flags, by_interrupt] :
       {std::pair(0x01U, false), {0x08U, true}, {0x10U, true}, {0x44U, false}}) {
    const auto waking = parse_waking(record_of(flags, 77, "x264"), format);
    ASSERT_TRUE(waking);
    EXPECT_EQ(waking->woken, 77);
    EXPECT_EQ(waking->name, "x264");
    EXPECT_EQ(waking->by_interrupt, by_interrupt) << flags;
  }
  EXPECT_EQ(parse_waking(record_of(0, 1, "sixteen-and-more"), format)->name, "sixteen-and-more");
  const auto whole = record_of(0, 1, "x");
  for (std::size_t size = 0; size < 28; ++size)
    EXPECT_FALSE(parse_waking(std::span(whole).first(size), format)) << size;
}

TEST(WakeUpTrace, ALineTellsWhoWakesMost) {
  EXPECT_EQ(explain_wakers({}), "");
  const Wakers hand_offs{{{{"x264", "x264"}, 70}, {{"x264", "writer"}, 10}}, 15, 5, 0};
  EXPECT_EQ(
      explain_wakers(hand_offs),
      "of 100 seen, 80 % by threads of the program (most: x264 wakes x264, 70 %), 15 % by interrupts, 5 % by "
      "others; who wakes another of the program goes on under class batch");
  EXPECT_EQ(
      explain_wakers({{}, 9, 1, 4}),
      "of 10 seen, 0 % by threads of the program, 90 % by interrupts, 10 % by others; 4 more were not seen");
}

// Two threads that pass a byte back and forth, in a process with its own tracefs; 77 if that is not
// permitted.
int count_hand_offs() {
  if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
  if (mount("none", "/sys/kernel/tracing", "tracefs", 0, nullptr) != 0) return 77;
  auto trace = WakeUpTrace::begin();
  if (!trace) return 77;
  constexpr int rounds = 200;
  int there[2];
  int back[2];
  if (pipe(there) != 0 || pipe(back) != 0) return 1;
  pid_t other = 0;
  std::thread echo([&] {
    other = gettid();
    char byte = 0;
    for (int i = 0; i < rounds; ++i)
      if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1) return;
  });
  char byte = 0;
  for (int i = 0; i < rounds; ++i)
    if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) return 1;
  echo.join();
  trace->read({getpid(), other});
  std::int64_t seen = 0;
  for (const auto& [names, count] : trace->wakers().by_threads)
    seen += count;
  // If both are awake no wake-up is needed, but mostly they have to wait for each other.
  return seen > rounds / 4 && trace->wakers().lost == 0 ? 0 : 2;
}

TEST(WakeUpTrace, SeesThreadsThatWakeOneAnother) {
  const pid_t child = fork();
  if (child == 0) _exit(count_hand_offs());
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "tracepoints may not be read here";
  EXPECT_EQ(status, 0) << WEXITSTATUS(status);
}

}  // namespace
}  // namespace millrace::placement
