#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/placement/apply/guardian.h"

#include <unistd.h>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

// `kill -9 %1` of a shell kills this process's group.
TEST(Guardian, HasLeftTheGroupAndTheSessionOnceItWasStarted) {
  const TemporaryFolder own;
  // A new process and its maker run in any order.
  constexpr int attempts = 50;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    auto journal = Journal::begin(std::move(StateFolder::open(own.path()).value()));
    ASSERT_TRUE(journal) << journal.error().message;
    const auto guardian = Guardian::start(*journal);
    ASSERT_TRUE(guardian) << guardian.error().message;
    const pid_t process = guardian->process();
    ASSERT_EQ(getpgid(process), process);
    ASSERT_EQ(getsid(process), process);
  }
}

}  // namespace
}  // namespace millrace::placement
