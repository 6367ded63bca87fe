#include "millrace/base/numbers/little_endian.h"

#include <array>
#include <cstdint>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(LittleEndian, HasTheLeastByteFirstAndTouchesNoOther) {
  std::array<std::byte, 8> bytes{};
  put_little_endian(std::span(bytes), 1, std::uint32_t{0x01020304});
  EXPECT_EQ(bytes, (std::array{std::byte{0}, std::byte{4}, std::byte{3}, std::byte{2}, std::byte{1},
                               std::byte{0}, std::byte{0}, std::byte{0}}));
  EXPECT_EQ(get_little_endian<std::uint32_t>(bytes, 1), 0x01020304U);
  EXPECT_EQ(get_little_endian<std::uint16_t>(bytes, 1), 0x0304U);
  EXPECT_EQ(get_little_endian<std::uint8_t>(bytes, 4), 1U);
}

TEST(LittleEndian, GivesBackEveryBit) {
  std::array<std::byte, 8> bytes{};
  for (unsigned bit = 0; bit < 64; ++bit) {
    put_little_endian(std::span(bytes), 0, std::uint64_t{1} << bit);
    EXPECT_EQ(get_little_endian<std::uint64_t>(bytes, 0), std::uint64_t{1} << bit);
    EXPECT_EQ(bytes[bit / 8], static_cast<std::byte>(1U << bit % 8));
  }
}

TEST(LittleEndian, HoldsSignsAndFractions) {
  std::array<std::byte, 8> bytes{};
  put_little_endian(std::span(bytes), 0, std::int64_t{-2});
  EXPECT_EQ(bytes.front(), std::byte{0xfe});
  EXPECT_EQ(get_little_endian<std::int64_t>(bytes, 0), -2);
  put_little_endian(std::span(bytes), 0, 1.5F);  // 0x3fc00000
  EXPECT_EQ(bytes[2], std::byte{0xc0});
  EXPECT_EQ(bytes[3], std::byte{0x3f});
  EXPECT_EQ(get_little_endian<float>(bytes, 0), 1.5F);
}

}  // namespace
}  // namespace millrace
