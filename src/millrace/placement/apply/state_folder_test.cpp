#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/placement/apply/state_folder.h"

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

using testing::HasSubstr;

constexpr uid_t somebody = 65534;
constexpr uid_t somebody_else = 65533;

// Runs `work` in a child process and returns its result.
bool in_process(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class StateFolderTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to be two users";
    chmod(own_.path().c_str(), 0755);
  }
  TemporaryFolder own_;
  std::filesystem::path runtime_ = own_.path() / "runtime";

  void make_runtime(uid_t owner, mode_t mode) const {
    mkdir(runtime_.c_str(), mode);
    chmod(runtime_.c_str(), mode);
    ASSERT_EQ(chown(runtime_.c_str(), owner, owner), 0);
    setenv("XDG_RUNTIME_DIR", runtime_.c_str(), 1);
  }
};

TEST_F(StateFolderTest, RootUsesNoFolderOfAnotherUserThatTheEnvironmentNames) {
  EXPECT_TRUE(in_process([&] {
    make_runtime(somebody, 0700);
    const auto folder = StateFolder::of_this_user();
    return folder && folder->path().parent_path() != runtime_ &&
           !std::filesystem::exists(runtime_ / "millrace");
  }));
}

TEST_F(StateFolderTest, AFolderThatOthersMayWriteIsNotUsed) {
  EXPECT_TRUE(in_process([&] {
    make_runtime(0, 0777);
    const auto folder = StateFolder::of_this_user();
    return folder && folder->path().parent_path() != runtime_;
  }));
}

TEST_F(StateFolderTest, AUsersOwnIsUsedAndForThatUserAlone) {
  EXPECT_TRUE(in_process([&] {
    make_runtime(somebody, 0700);
    if (setuid(somebody) != 0) return false;
    umask(0);
    const auto folder = StateFolder::of_this_user();
    struct stat status{};
    return folder && folder->path() == runtime_ / "millrace" && stat(folder->path().c_str(), &status) == 0 &&
           (status.st_mode & 0777) == 0700;
  }));
  EXPECT_FALSE(std::filesystem::exists(runtime_ / "millrace")) << "goes when it is empty";
}

TEST_F(StateFolderTest, OnesOwnFolderThatWasOpenToOthersIsClosedToThem) {
  const std::filesystem::path path = own_.path() / "open";
  mkdir(path.c_str(), 0777);
  chmod(path.c_str(), 0777);
  const auto folder = StateFolder::open(path);
  ASSERT_TRUE(folder) << folder.error().message;
  struct stat status{};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
}

TEST_F(StateFolderTest, LinksAndForeignFoldersAreRefusedInOneLineThatNamesThem) {
  const std::filesystem::path real = own_.path() / "real";
  const std::filesystem::path link = own_.path() / "link";
  mkdir(real.c_str(), 0700);
  std::filesystem::create_directory_symlink(real, link);
  EXPECT_TRUE(StateFolder::open(link)) << "one's own link to one's own folder";
  mkdir(real.c_str(), 0700);
  ASSERT_EQ(lchown(link.c_str(), somebody, somebody), 0);
  const auto linked = StateFolder::open(link);
  ASSERT_FALSE(linked);
  EXPECT_THAT(linked.error().message, HasSubstr(link.string()));
  ASSERT_EQ(chown(real.c_str(), somebody, somebody), 0);
  const auto foreign = StateFolder::open(real);
  ASSERT_FALSE(foreign);
  EXPECT_THAT(foreign.error().message,
              HasSubstr(fmt::format("'{}' belongs to user {}", real.string(), somebody)));
}

// A journal in any other folder would not be found by the next start, which has to undo it.
TEST_F(StateFolderTest, AUserWhoseNameInTheTemporaryFolderIsTakenGetsNoFolderAndIsToldWhoOwnsIt) {
  const std::filesystem::path taken = fmt::format("/tmp/millrace-{}", somebody_else);
  if (std::filesystem::exists(taken)) GTEST_SKIP() << taken << " is there already";
  mkdir(taken.c_str(), 0777);
  chmod(taken.c_str(), 0777);
  EXPECT_TRUE(in_process([&] {
    unsetenv("XDG_RUNTIME_DIR");
    if (setuid(somebody_else) != 0) return false;
    const auto folder = StateFolder::of_this_user();
    return !folder && folder.error().message.find(fmt::format("'{}' belongs to user 0", taken.string())) !=
                          std::string::npos;
  }));
  rmdir(taken.c_str());
}

TEST(StateFolder, WhatCannotBeOpenedIsNotLeftBehind) {
  const TemporaryFolder parent;
  const auto path = parent.path() / "state";
  EXPECT_FALSE(in_process([&path] {
    const rlimit none{};
    return setrlimit(RLIMIT_NOFILE, &none) != 0 || StateFolder::open(path);
  }));
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace millrace::placement
