#include "millrace/base/file/cache_folder.h"
#include "millrace/base/testing/scoped_variable_testing.h"

#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

struct Environment {
  std::optional<std::string> cache;
  std::optional<std::string> home;
  std::string folder;  // empty: no folder
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
                         testing::Values(Environment{"/somewhere", "/usr", "/somewhere/millrace"},
                                         Environment{"/somewhere", std::nullopt, "/somewhere/millrace"},
                                         Environment{"relative", "/usr", "/usr/.cache/millrace"},
                                         Environment{"", "/usr", "/usr/.cache/millrace"},
                                         Environment{std::nullopt, "/usr", "/usr/.cache/millrace"},
                                         Environment{std::nullopt, "/usr/there/is/none", ""},
                                         Environment{std::nullopt, "relative", ""},
                                         Environment{std::nullopt, std::nullopt, ""}));

TEST(ConfigFolder, FollowsTheXdgBaseDirectories) {
  const ScopedVariable home("HOME", "/home/a");
  {
    const ScopedVariable config("XDG_CONFIG_HOME", "/somewhere");
    EXPECT_EQ(config_folder(), "/somewhere/millrace");
  }
  const ScopedVariable config("XDG_CONFIG_HOME", "relative");
  EXPECT_EQ(config_folder(), "/home/a/.config/millrace");
  const ScopedVariable homeless("HOME", std::nullopt);
  EXPECT_EQ(config_folder(), "");
}

}  // namespace
}  // namespace millrace
