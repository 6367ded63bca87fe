#include "millrace/video/sequence_name.h"

#include <gtest/gtest.h>

namespace millrace::video {
namespace {

TEST(SequenceName, StandsForNumberedFiles) {
  const auto padded = SequenceName::parse("a/b%%c/frame%04d.png");
  ASSERT_TRUE(padded);
  EXPECT_EQ(padded->at(7), "a/b%c/frame0007.png");
  EXPECT_EQ(padded->at(123456), "a/b%c/frame123456.png");
  EXPECT_EQ(padded->folder(), "a/b%c");
  EXPECT_EQ(padded->number_of("frame0007.png"), 7);
  EXPECT_EQ(padded->number_of("frame12345.png"), 12345);
  for (const char* other :
       {"frame7.png", "frame00007.png", "frame0007.jpg", "frame.png", "frame00x7.png", "0007.png"})
    EXPECT_FALSE(padded->number_of(other)) << other;
  const auto plain = SequenceName::parse("%d.png");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->at(10), "10.png");
  EXPECT_EQ(plain->number_of("10.png"), 10);
  EXPECT_FALSE(plain->number_of("010.png"));
  EXPECT_EQ(plain->folder(), ".");
}

// Compares with all file names of small numbers, starting at 1.
TEST(SequenceName, MayMeetWhatHasAFileInCommon) {
  const auto of = [](const char* name) { return *SequenceName::parse(name); };
  const char* const names[] = {"q%d.png",  "q%02d.png",  "q%03d.png", "q0%d.png", "q0%02d.png", "q00%d.png",
                               "q1%d.png", "q1%02d.png", "1%d.png",   "%d.png",   "%d1.png",    "%d0.png",
                               "q%d.jpg",  "r%d.png",    "q%d1.png",  "2q%d.png", "q01%d.png"};
  for (const char* one : names)
    for (const char* other : names) {
      bool common = false;
      for (int number = 1; number < 2000 && !common; ++number)
        common = of(other).number_of(of(one).at(number)).value_or(0) > 0;
      // If digits surround both numbers, may_meet() may be true although no file is shared.
      if (common || of(one).suffix() == of(other).suffix()) {
        EXPECT_EQ(of(one).may_meet(of(other)), common) << one << " and " << other;
      }
    }
}

TEST(SequenceName, IsNoNameWithoutOneNumber) {
  for (const char* name :
       {"a.png", "a%d%d.png", "a%s.png", "a%4d.png", "a%", "%d/a.png", "a%099d.png", "50%.mp4", ""})
    EXPECT_FALSE(SequenceName::parse(name)) << name;
}

}  // namespace
}  // namespace millrace::video
