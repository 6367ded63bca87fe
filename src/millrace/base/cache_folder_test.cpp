#include "millrace/base/cache_folder.h"
#include "millrace/base/scoped_variable_testing.h"
#include "millrace/base/temporary_folder_testing.h"

#include <filesystem>
#include <optional>
#include <string>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace millrace {
namespace {

struct Environment {
  std::optional<std::string> cache;
  std::optional<std::string> home;
  std::string folder;  // empty: none
};

class CacheFolderTest : public testing::TestWithParam<Environment> {};

TEST_P(CacheFolderTest, follows_the_xdg_base_directories) {
  const ScopedVariable cache("XDG_CACHE_HOME", GetParam().cache);
  const ScopedVariable home("HOME", GetParam().home);
  const auto folder = cache_folder();
  if (GetParam().folder.empty()) {
    ASSERT_FALSE(folder) << *folder;
    EXPECT_THAT(folder.error().message, testing::HasSubstr("XDG_CACHE_HOME"));
  } else {
    ASSERT_TRUE(folder) << folder.error().message;
    EXPECT_EQ(*folder, GetParam().folder);
  }
}

INSTANTIATE_TEST_SUITE_P(Environments, CacheFolderTest,
                         testing::Values(Environment{"/somewhere", "/home/a", "/somewhere/millrace"},
                                         Environment{"/somewhere", std::nullopt, "/somewhere/millrace"},
                                         Environment{"relative", "/home/a", "/home/a/.cache/millrace"},
                                         Environment{"", "/home/a", "/home/a/.cache/millrace"},
                                         Environment{std::nullopt, "/home/a", "/home/a/.cache/millrace"},
                                         Environment{std::nullopt, "relative", ""},
                                         Environment{std::nullopt, std::nullopt, ""}));

TEST(PrivateFolder, IsMadeWithThoseAboveItForThisUserAlone) {
  const TemporaryFolder place;
  const std::filesystem::path folder = place / "a/b/millrace";
  EXPECT_TRUE(make_private_folder(folder));
  EXPECT_TRUE(make_private_folder(folder));
  struct stat status{};
  ASSERT_EQ(stat(folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
  const std::filesystem::path file = place / "file";
  make_file(file.string(), "");
  EXPECT_FALSE(make_private_folder(file));
  EXPECT_FALSE(make_private_folder(file / "below"));
}

TEST(PrivateFolder, IsNotMadeByRootInTheHomeOfAnother) {
  if (geteuid() != 0) GTEST_SKIP() << "SKIPPED: only root can be taken for another";
  const TemporaryFolder home;
  ASSERT_EQ(chown(home.path().c_str(), 65534, 65534), 0);
  EXPECT_FALSE(make_private_folder(home / ".cache/millrace"));
  EXPECT_EQ(home.entries(), 0U);
}

}  // namespace
}  // namespace millrace
