#include "millrace/base/quoted.h"

#include <string>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Quoted, IsOneShortLineOfPrintableAsciiWhateverItHolds) {
  EXPECT_EQ(quoted(""), "''");
  EXPECT_EQ(quoted("blur(2)"), "'blur(2)'");
  EXPECT_EQ(quoted("a\nb\x1b\xc3\xa9"), R"('a\x0ab\x1b\xc3\xa9')");
  EXPECT_EQ(quoted(std::string(40, 'x')), "'" + std::string(40, 'x') + "'");
  EXPECT_EQ(quoted(std::string(41, 'x')), "'" + std::string(40, 'x') + "...'");
}

}  // namespace
}  // namespace millrace
