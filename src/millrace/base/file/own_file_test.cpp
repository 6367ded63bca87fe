// Nothing that another user or the user put in the place of a program's own file is taken for it.
#include "millrace/base/file/own_file.h"
#include "millrace/base/testing/temporary_folder_testing.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace millrace {
namespace {

struct NotOwnCase {
  const char* name;
  void (*make)(const std::filesystem::path& path, const std::filesystem::path& victim);
  NotOwnFile::Kind kind;
};

class NotOwn : public testing::TestWithParam<NotOwnCase> {};

TEST_P(NotOwn, IsRefusedWhetherItMayBeCreatedOrNot) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "own";
  const std::filesystem::path victim = folder.path() / "victim";
  std::ofstream(victim) << "precious";
  GetParam().make(path, victim);
  for (const int flags : {O_RDWR, O_RDWR | O_CREAT, O_RDWR | O_CREAT | O_APPEND, O_RDONLY}) {
    const auto file = open_own_file(path, flags);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().kind, GetParam().kind);
  }
  EXPECT_EQ(std::filesystem::file_size(victim), 8);
}

INSTANTIATE_TEST_SUITE_P(
    Files, NotOwn,
    testing::Values(
        NotOwnCase{"link", [](const auto& path, const auto& victim) { create_symlink(victim, path); },
                   NotOwnFile::Kind::link},
        NotOwnCase{"link_to_nothing", [](const auto& path, const auto&) { create_symlink("gone", path); },
                   NotOwnFile::Kind::link},
        NotOwnCase{"second_name",
                   [](const auto& path, const auto& victim) { create_hard_link(victim, path); },
                   NotOwnFile::Kind::second_name},
        NotOwnCase{"pipe", [](const auto& path, const auto&) { ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); },
                   NotOwnFile::Kind::not_regular}),
    [](const auto& instance) { return instance.param.name; });

TEST(NotOwnFile, OfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "own";
  std::ofstream(path) << "theirs";
  ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  const auto file = open_own_file(path, O_RDWR | O_CREAT);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind, NotOwnFile::Kind::of_another_user);
}

TEST(OwnFile, IsCreatedAndOpenedAgain) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "own";
  const auto missing = open_own_file(path, O_RDWR);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, NotOwnFile::Kind::unusable);
  EXPECT_EQ(missing.error().error, ENOENT);
  EXPECT_TRUE(open_own_file(path, O_RDWR | O_CREAT));
  EXPECT_TRUE(open_own_file(path, O_RDWR | O_CREAT));
}

}  // namespace
}  // namespace millrace
