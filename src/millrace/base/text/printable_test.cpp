#include "millrace/base/text/printable.h"

#include <string>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Printable, LeavesTextThatOnlyShowsAsItIs) {
  for (const std::string text :
       {"", "plain name.jpg", "Füße", "日本語", "\U0001f600", R"(back\slash 'quotes')", "a\u00a0b"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, ShowsWhatWouldActOnATerminalOrTurnTheLine) {
  EXPECT_EQ(printable("\x1b[2Jgone"), R"(\x1b[2Jgone)");
  EXPECT_EQ(printable("a\nb\rc\td"), R"(a\x0ab\x0dc\x09d)");
  EXPECT_EQ(printable(std::string("a\0b", 3)), R"(a\x00b)");
  EXPECT_EQ(printable("\x7f"), R"(\x7f)");
  EXPECT_EQ(printable("\u009b31m"), R"(\xc2\x9b31m)");              // the one-character form of ESC [
  EXPECT_EQ(printable("gpj.\u202egnp"), R"(gpj.\xe2\x80\xaegnp)");  // right to left
  EXPECT_EQ(printable("\u2066x\u2028"), R"(\xe2\x81\xa6x\xe2\x80\xa8)");
}

TEST(Printable, ShowsTheBytesOfWhatIsNoUtf8) {
  EXPECT_EQ(printable("\xff"), R"(\xff)");
  EXPECT_EQ(printable("caf\xe9 x"), R"(caf\xe9 x)");
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            R"(\x9b31m)");                                          // the same in 8-bit form
  EXPECT_EQ(printable("\xc0\x9b"), R"(\xc0\x9b)");                  // overlong
  EXPECT_EQ(printable("\xe0\x80\x9b"), R"(\xe0\x80\x9b)");          // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), R"(\xed\xa0\x80)");          // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), R"(\xf4\x90\x80\x80)");  // above U+10FFFF
  EXPECT_EQ(printable("\xe2\x82"), R"(\xe2\x82)");                  // truncated
}

// For any input, the output is harmless and printing it again changes nothing.
TEST(Printable, OfAnyTwoBytesIsPrintable) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string shown = printable(std::string{static_cast<char>(a), static_cast<char>(b)});
      for (const char c : shown)
        ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) << a << " " << b;
      ASSERT_EQ(printable(shown), shown);
    }
  }
}

}  // namespace
}  // namespace millrace
