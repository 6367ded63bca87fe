#include "millrace/base/process/loaded_object.h"

#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

constexpr const char* hexadecimal = "[0-9a-f]+";

TEST(LoadedObject, IsFoundByWhatItHolds) {
  static const int own = 0;
  const auto program = loaded_object_of(&own);
  ASSERT_TRUE(program);
  EXPECT_EQ(program->file, "");
  const auto library = loaded_object_of(stdout);
  ASSERT_TRUE(library);
  EXPECT_THAT(library->file, StartsWith("libc."));
  EXPECT_THAT(library->build_id, AllOf(MatchesRegex(hexadecimal), testing::Ne(program->build_id)));
  EXPECT_FALSE(loaded_object_of(nullptr));
}

TEST(LoadedObject, IsFoundByItsName) {
  const auto library = loaded_object_named("libc.");
  ASSERT_TRUE(library);
  EXPECT_EQ(library->build_id, loaded_object_of(stdout)->build_id);
  EXPECT_FALSE(loaded_object_named("libnone."));
}

}  // namespace
}  // namespace millrace
