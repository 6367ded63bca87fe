#include "millrace/base/quoted.h"

#include <string>

#include <gtest/gtest.h>

namespace millrace {
namespace {

// By its full name: std::quoted is found for std::string.
TEST(Quoted, IsOneShortLineOfPrintableAsciiWhateverItHolds) {
  EXPECT_EQ(millrace::quoted(""), "''");
  EXPECT_EQ(millrace::quoted("blur(2)"), "'blur(2)'");
  EXPECT_EQ(millrace::quoted("a\nb\x1b\xc3\xa9"), R"('a\x0ab\x1b\xc3\xa9')");
  EXPECT_EQ(millrace::quoted(std::string(40, 'x')), "'" + std::string(40, 'x') + "'");
  EXPECT_EQ(millrace::quoted(std::string(41, 'x')), "'" + std::string(40, 'x') + "...'");
}

}  // namespace
}  // namespace millrace
