#include "millrace/placement/task/children.h"
#include "millrace/placement/task/task_files.h"

#include <algorithm>
#include <csignal>
#include <future>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

// Also ends with the thread that made it.
[[noreturn]] void wait_for_the_end() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  while (true)
    pause();
}

TEST(ChildrenReader, FindsThoseThatLiveAgainAndAgain) {
  ChildrenReader reader;
  const auto found = [&reader](pid_t child) {
    const auto children = reader.read(getpid(), list_threads(getpid()));
    reader.forget_others();
    return std::ranges::find(children, child) != children.end();
  };
  for (int round = 0; round < 3; ++round) {
    const pid_t child = fork();
    if (child == 0) wait_for_the_end();
    EXPECT_TRUE(found(child));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_FALSE(found(child));
  }
  EXPECT_TRUE(reader.read(4194304, {4194304}).empty());
}

// Children made by another thread.
TEST(ChildrenReader, FindsThoseOfEachThread) {
  ChildrenReader reader;
  pid_t child = 0;
  std::promise<void> made;
  std::promise<void> done;
  std::jthread other([&] {
    child = fork();
    if (child == 0) wait_for_the_end();
    made.set_value();
    done.get_future().wait();
  });
  made.get_future().wait();
  const auto children = reader.read(getpid(), list_threads(getpid()));
  EXPECT_NE(std::ranges::find(children, child), children.end());
  EXPECT_TRUE(reader.read(getpid(), {getpid()}).empty());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  done.set_value();
}

// More than the kernel returns in one read.
TEST(ChildrenReader, FindsManyAndNobodyElse) {
  constexpr int count = 700;
  std::vector<pid_t> made;
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child < 0) {
      ADD_FAILURE() << "fork is refused";
      break;
    }
    if (child == 0) wait_for_the_end();
    made.push_back(child);
  }
  EXPECT_THAT(list_children(getpid()), testing::UnorderedElementsAreArray(made));
  for (const pid_t child : made)
    kill(child, SIGKILL);
  for (const pid_t child : made)
    waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace millrace::placement
