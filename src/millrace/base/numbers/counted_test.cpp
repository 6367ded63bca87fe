#include "millrace/base/numbers/counted.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Counted, OneAloneIsSingular) {
  for (const std::int64_t count : {-1, 0, 2, 21, 101, 1000})
    EXPECT_EQ(counted(count, "frame"), std::to_string(count) + " frames");
  EXPECT_EQ(counted(1, "frame"), "1 frame");
  EXPECT_EQ(counted(std::size_t{1}, "process", "processes"), "1 process");
  EXPECT_EQ(counted(std::size_t{2}, "process", "processes"), "2 processes");
}

}  // namespace
}  // namespace millrace
