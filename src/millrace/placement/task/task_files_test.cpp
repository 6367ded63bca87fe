#include "millrace/base/error/clock.h"
#include "millrace/placement/task/forked_process_testing.h"
#include "millrace/placement/task/task_files.h"

#include <algorithm>
#include <csignal>
#include <future>
#include <optional>
#include <thread>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

TEST(TaskFiles, SchedstatIsThreeNumbers) {
  const auto times = parse_schedstat("123456789 42 7\n");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->run_ns, 123456789);
  EXPECT_EQ(times->wait_ns, 42);
  EXPECT_EQ(times->turns, 7);
  for (const auto* text : {"", "1 2", "1 2 x", "one 2 3"})
    EXPECT_FALSE(parse_schedstat(text)) << text;
}

class ThreadNames : public testing::TestWithParam<const char*> {};

TEST_P(ThreadNames, DoNotConfuseTheReadingOfStat) {
  const std::string name = GetParam();
  const std::string text =
      "17 (" + name +
      ") S 5 17 17 0 -1 4194560 1 0 0 0 10 20 0 0 20 0 3 0 987654 1000 10 18446744073709551615\n";
  const auto stat = parse_task_stat(text);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->name, name);
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 5);
  EXPECT_EQ(stat->start_time, 987654U);
}

INSTANTIATE_TEST_SUITE_P(Names, ThreadNames,
                         testing::Values("x264", "", "a b", ") R 1 1", "((", "))", "tab\there", "new\nline"));

TEST(TaskFiles, StatTellsWhereAThreadRanLast) {
  const std::string text = "17 (x) S 5 17 17 0 -1 4194560 1 0 0 0 10 20 0 0 20 0 3 0 987654 1000 10 "
                           "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 6 0 0 0 0 0";
  EXPECT_EQ(parse_task_stat(text)->cpu, 6);
  EXPECT_EQ(parse_task_stat(text.substr(0, text.size() - 20))->cpu, -1);
  EXPECT_GE(read_task_stat(getpid(), gettid())->cpu, 0);
}

TEST(TaskFiles, DamagedStatIsNone) {
  for (const auto* text : {"", "17", "17 (x", "17 )x(", "17 (x) S", "17 (x) S 5 6 7"})
    EXPECT_FALSE(parse_task_stat(text)) << text;
}

TEST(TaskFiles, FieldsAreFoundByTheirWholeName) {
  constexpr auto* text = "Name:\tx\nse.nr_migrations   :   12\nTgidX: 4\nTgid:\t77\nlast: 5";
  EXPECT_EQ(parse_field(text, "Tgid"), 77);
  EXPECT_EQ(parse_field(text, "se.nr_migrations"), 12);
  EXPECT_EQ(parse_field(text, "last"), 5);
  EXPECT_EQ(parse_field(text, "Name"), std::nullopt);
  EXPECT_EQ(parse_field(text, "none"), std::nullopt);
}

TEST(TaskFiles, RunTimeOfAProcessGrowsWhileItRunsAndOnlyThen) {
  const ForkedProcess sleeper;
  ASSERT_TRUE(sleeper.becomes('S'));
  std::optional<std::int64_t> slept;
  ASSERT_TRUE(eventually([&] {  // in state S it may still be leaving the CPU
    const auto now = run_time_of_process(sleeper.number());
    return now && now == std::exchange(slept, now);
  }));
  const auto before = run_time_of_process(getpid());
  // Includes a thread that has ended.
  std::jthread([] {
    const std::int64_t end = now_ns() + 1'000'000;
    while (now_ns() < end) {
    }
  }).join();
  EXPECT_GT(run_time_of_process(getpid()), before);
  EXPECT_EQ(run_time_of_process(sleeper.number()), slept);
  EXPECT_FALSE(run_time_of_process(4194304));
}

TEST(TaskFiles, SignalsThatWaitAreTold) {
  const pid_t child = fork();
  if (child == 0) {
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_SETMASK, &blocked, nullptr);
    raise(SIGSTOP);
    _exit(0);
  }
  waitpid(child, nullptr, WUNTRACED);
  EXPECT_FALSE(is_pending(child, SIGUSR1));
  kill(child, SIGUSR1);
  EXPECT_TRUE(is_pending(child, SIGUSR1));
  EXPECT_FALSE(is_pending(child, SIGUSR2));
  EXPECT_FALSE(is_pending(4194304, SIGUSR1));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(TaskFiles, OwnThreadsAreListedAndRead) {
  std::promise<pid_t> number;
  std::promise<void> done;
  std::jthread other([&] {
    number.set_value(gettid());
    done.get_future().wait();
  });
  const pid_t thread = number.get_future().get();
  const auto threads = list_threads(getpid());
  EXPECT_NE(std::ranges::find(threads, thread), threads.end());
  EXPECT_NE(std::ranges::find(threads, getpid()), threads.end());
  const auto stat = read_task_stat(getpid(), thread);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->parent, getppid());
  EXPECT_FALSE(read_task_stat(getpid(), 1 << 24));
  EXPECT_TRUE(transferred_bytes(getpid()).has_value());
  done.set_value();
}

}  // namespace
}  // namespace millrace::placement
