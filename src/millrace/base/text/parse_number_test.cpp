#include "millrace/base/text/parse_number.h"

#include <cstdint>
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(ParseNumber, GivesBackWhatWasPrinted) {
  for (const std::int64_t number :
       {std::int64_t{0}, std::int64_t{-7}, std::numeric_limits<std::int64_t>::max(),
        std::numeric_limits<std::int64_t>::min()})
    EXPECT_EQ(parse_number<std::int64_t>(fmt::to_string(number)), number);
  for (const double number : {0.0, -0.1, 1e300, 5e-324})
    EXPECT_EQ(parse_number<double>(fmt::to_string(number)), number);
}

TEST(ParseNumber, TakesNothingButAWholeNumberInItsRange) {
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "x", "0x10", "1.5", "256", "-1"})
    EXPECT_FALSE(parse_number<std::uint8_t>(text)) << text;
  for (const char* text : {"", "inf", "-inf", "nan", "1e999", "1,5", "1.5s", "."})
    EXPECT_FALSE(parse_number<double>(text)) << text;
}

}  // namespace
}  // namespace millrace
