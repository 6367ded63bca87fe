#include "millrace/base/eventually_testing.h"
#include "millrace/placement/apply/births_under_way.h"
#include "millrace/placement/task/task_files.h"

#include <csignal>
#include <functional>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

// A process that does something until it is killed.
class Child {
 public:
  explicit Child(const std::function<void()>& work) : number_(fork()) {
    if (number_ == 0)
      while (true)
        work();
  }
  ~Child() {
    kill(number_, SIGKILL);
    waitpid(number_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  [[nodiscard]] pid_t number() const { return number_; }
  [[nodiscard]] bool becomes(char state) const {
    return eventually([&] { return read_task_stat(number_, number_)->state == state; });
  }

 private:
  pid_t number_;
};

TEST(BirthsUnderWay, NoneOfThreadsThatSleepAreStoppedOrGone) {
  const Child child([] { pause(); });
  ASSERT_TRUE(child.becomes('S'));
  EXPECT_FALSE(BirthsUnderWay().any({child.number()}));
  kill(child.number(), SIGSTOP);
  ASSERT_TRUE(child.becomes('T'));
  EXPECT_FALSE(BirthsUnderWay().any({child.number()}));
  EXPECT_FALSE(BirthsUnderWay().any({4194304}));
}

TEST(BirthsUnderWay, PerhapsOfOneThatRunsUntilItHasRunForLong) {
  const Child child([] {});
  BirthsUnderWay births;
  EXPECT_TRUE(births.any({child.number()}));
  EXPECT_TRUE(eventually([&] { return !births.any({child.number()}); }));
  EXPECT_FALSE(births.any({child.number()})) << "it stays so";
}

TEST(BirthsUnderWay, ItIsLookedAgainUntilNothingNewIsFoundTwice) {
  const Child child([] { pause(); });
  ASSERT_TRUE(child.becomes('S'));
  int looks = 0;
  BirthsUnderWay().wait_until_none([&] {
    ++looks;
    return BirthsUnderWay::Look{{child.number()}, looks <= 3 || looks == 5};
  });
  EXPECT_EQ(looks, 7);
}

}  // namespace
}  // namespace millrace::placement
