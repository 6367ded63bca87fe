#include "millrace/base/text/in_quotes.h"

#include <string>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(InQuotes, IsOneShortLineOfPrintableAsciiWhateverItHolds) {
  EXPECT_EQ(in_quotes(""), "''");
  EXPECT_EQ(in_quotes("blur(2)"), "'blur(2)'");
  EXPECT_EQ(in_quotes("a\nb\x1b\xc3\xa9"), R"('a\x0ab\x1b\xc3\xa9')");
  EXPECT_EQ(in_quotes(std::string(40, 'x')), "'" + std::string(40, 'x') + "'");
  EXPECT_EQ(in_quotes(std::string(41, 'x')), "'" + std::string(40, 'x') + "...'");
}

}  // namespace
}  // namespace millrace
