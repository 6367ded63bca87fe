#include "millrace/base/numbers/file_layout.h"

#include <array>
#include <cstdint>

#include <gtest/gtest.h>

namespace millrace {
namespace {

enum class Kind : std::uint8_t { none, some = 7 };
struct Record {
  Kind kind = Kind::none;
  std::uint32_t size = 0;
  std::uint16_t left_out = 5;
};
constexpr std::tuple record_layout{PlacedMember{1, &Record::kind}, PlacedMember{4, &Record::size}};

TEST(FileLayout, PutsMembersWhereItSaysAndTouchesNothingElse) {
  std::array<std::byte, 8> bytes{};
  bytes.fill(std::byte{0xee});
  put_members(bytes, Record{Kind::some, 0x01020304, 9}, record_layout);
  EXPECT_EQ(bytes, (std::array{std::byte{0xee}, std::byte{7}, std::byte{0xee}, std::byte{0xee}, std::byte{4},
                               std::byte{3}, std::byte{2}, std::byte{1}}));
}

TEST(FileLayout, GivesBackWhatWasPut) {
  std::array<std::byte, 8> bytes{};
  put_members(bytes, Record{Kind::some, 0xfffefdfc, 9}, record_layout);
  const auto record = get_members(std::span<const std::byte>(bytes), record_layout);
  EXPECT_EQ(record.kind, Kind::some);
  EXPECT_EQ(record.size, 0xfffefdfcU);
  EXPECT_EQ(record.left_out, 5);
}

}  // namespace
}  // namespace millrace
