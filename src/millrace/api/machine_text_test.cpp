#include "millrace/api/millrace.h"
#include "millrace/base/testing/temporary_folder_testing.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using millrace::TemporaryFolder;
using ::testing::Each;
using ::testing::HasSubstr;

void expect_machine_after_a_failure() {
  const TemporaryFolder config;
  setenv("XDG_CONFIG_HOME", config.path().c_str(), 1);
  std::filesystem::create_directories(config / "millrace/units");
  const std::string family = config / "millrace/units/mine.toml";
  std::ofstream(family) << "family = ";
  const char* json = nullptr;
  EXPECT_NE(millrace_machine(&json), MILLRACE_OK);
  EXPECT_THAT(millrace_error(), HasSubstr("mine.toml"));
  std::filesystem::remove(family);
  std::array<const char*, 4> at_once{};
  std::vector<std::jthread> threads;
  for (const char*& text : at_once)
    threads.emplace_back([&text] { EXPECT_EQ(millrace_machine(&text), MILLRACE_OK) << millrace_error(); });
  threads.clear();
  EXPECT_EQ(millrace_machine(&json), MILLRACE_OK) << millrace_error();
  EXPECT_THAT(at_once, Each(json)) << "its text is there until the process ends";
}

// In a separate process that has not asked yet.
TEST(MachineText, IsToldOnceWhatWasWrongIsMended) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        expect_machine_after_a_failure();
        std::fflush(stdout);
        std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
