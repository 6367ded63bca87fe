#include "skipline/pbm.h"
#include "skipline/skipline_testing.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::skipline {
namespace {

Result<Bitmap> read(std::string_view text) { return read_pbm(std::as_bytes(std::span(text))); }

std::string plain_text(const Bitmap& bitmap, std::string_view between) {
  std::string text = fmt::format("P1 # a comment\n{}\t{}\n", bitmap.width(), bitmap.height());
  for (int y = 0; y < bitmap.height(); ++y) {
    for (int x = 0; x < bitmap.width(); ++x)
      text += fmt::format("{}{}", bitmap.is_black(x, y) ? 1 : 0, between);
    text += '\n';
  }
  return text;
}

class PbmOfWidth : public testing::TestWithParam<int> {
 protected:
  Bitmap bitmap = drawing(static_cast<unsigned>(GetParam()), GetParam(), 21);
};

TEST_P(PbmOfWidth, WrittenRawIsReadAsItWas) {
  const auto file = write_pbm(bitmap);
  const auto again = read_pbm(file);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, bitmap);
  EXPECT_EQ(write_pbm(*again), file);
}

TEST_P(PbmOfWidth, WrittenPlainIsReadAsItWas) {
  for (const std::string_view between : {"", " ", "\n", " # and\n"}) {
    const auto again = read(plain_text(bitmap, between));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, bitmap);
  }
}

TEST_P(PbmOfWidth, CutAnywhereIsRefused) {
  const auto file = write_pbm(bitmap);
  for (std::size_t size = 0; size < file.size(); ++size)
    ASSERT_FALSE(read_pbm(std::span(file).first(size))) << size;
}

TEST_P(PbmOfWidth, TransposedTwiceIsAsItWas) {
  const Bitmap turned = bitmap.transposed();
  ASSERT_EQ(turned.width(), bitmap.height());
  for (int y = 0; y < bitmap.height(); ++y)
    for (int x = 0; x < bitmap.width(); ++x)
      ASSERT_EQ(turned.is_black(y, x), bitmap.is_black(x, y));
  EXPECT_EQ(turned.transposed(), bitmap);
}

INSTANTIATE_TEST_SUITE_P(Widths, PbmOfWidth, testing::Values(1, 7, 8, 9, 63, 64, 65, 128, 200));

TEST(Pbm, IgnoresTheBitsBehindALine) {
  for (const int width : {1, 7, 9, 63, 65, 197}) {
    const Bitmap bitmap = drawing(1, width, 5);
    auto file = write_pbm(bitmap);
    file.back() ^= std::byte{1};
    const auto again = read_pbm(file);
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, bitmap) << width;
  }
}

// A dozen bytes can claim any size.
TEST(Pbm, RefusesWhatTakesMoreThanTheLimitOrIsCutShortBeforeThereIsMemoryForIt) {
  const auto refusal = [](std::string_view text, std::size_t limit) {
    const auto image = read_pbm(std::as_bytes(std::span(text)), limit);
    return image ? "" : image.error().message;
  };
  const std::string page = "P4\n16 3\n" + std::string(6, '\xAA');
  // 128 bytes: 3 lines of a word each, or 16 columns.
  EXPECT_EQ(refusal(page, 128), "");
  EXPECT_EQ(refusal(page, 127),
            "16x3 pixels, which take 128 bytes, more than the limit of 127; if you trust it, give "
            "--limit 1M");
  EXPECT_THAT(refusal("P4\n1048576 4096\n" + std::string(4096, '\0'), default_limit),
              testing::HasSubstr("1048576x4096 pixels, which take 536870912 bytes"));
  constexpr std::size_t no_limit = std::size_t{1} << 60;
  const std::string little(1 << 20, '0');
  EXPECT_EQ(refusal("P4\n1048576 4096\n" + little, no_limit), "cut short in line 9 of 4096");
  EXPECT_EQ(refusal("P1\n1048576 4096\n" + little, no_limit), "cut short in line 2 of 4096");
}

TEST(Pbm, ReadsDigitsWithAndWithoutSpaceBetween) {
  const auto image = read("P1\n3 2\n101\n0 1 0");
  ASSERT_TRUE(image);
  EXPECT_TRUE(image->is_black(0, 0));
  EXPECT_FALSE(image->is_black(1, 0));
  EXPECT_TRUE(image->is_black(1, 1));
}

struct Bad {
  std::string_view text;
  std::string_view message;
};
class BadPbm : public testing::TestWithParam<Bad> {};

TEST_P(BadPbm, IsNamed) {
  const auto image = read(GetParam().text);
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadPbm,
    testing::Values(Bad{"", "no PBM image: it does not start with P1 or P4"},
                    Bad{"P5\n2 2\n255\n....", "no PBM image: it does not start with P1 or P4"},
                    Bad{"P1\nx", "without a size from 1 to 1048576 at byte 3"},
                    Bad{"P1\n0 5\n", "without a size from 1 to 1048576 at byte 4"},
                    Bad{"P4\n9999999 1\n", "without a size from 1 to 1048576 at byte 10"},
                    Bad{"P4\n1048576 1048576\n", "1048576x1048576 pixels, more than 4294967296"},
                    Bad{"P1\n2 2\n012 1", "no 0 or 1 at byte 9"},
                    Bad{"P1\n2 2\n011", "cut short in line 2 of 2"},
                    Bad{"P1\n2 2\n0110 1", "followed by something else at byte 12"}));

}  // namespace
}  // namespace millrace::skipline
