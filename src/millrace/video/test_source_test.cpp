#include "millrace/video/test_source.h"
#include "millrace/video/video_testing.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::video {
namespace {

using ::testing::HasSubstr;
using namespace millrace::video::testing;

TEST(TestSource, UnderstandsItsOptionsInAnyOrder) {
  TestSourceSpec expected;
  expected.format = {.width = 64, .height = 48};
  EXPECT_EQ(*parse_test_source("test:64x48"), expected);
  expected.frames = 10;
  expected.format.chroma = Chroma::c444;
  expected.format.bits = 10;
  expected.format.range = ColorRange::full;
  expected.format.rate_numerator = 30000;
  expected.format.rate_denominator = 1001;
  expected.seed = 9;
  EXPECT_EQ(*parse_test_source("test:64x48@10,444p10,full,fps=30000/1001,seed=9"), expected);
  EXPECT_EQ(*parse_test_source("test:64x48@10,seed=9,fps=30000/1001,full,444p10"), expected);
  EXPECT_EQ(parse_test_source("test:64x48,gray")->format.chroma, Chroma::gray);
  EXPECT_EQ(parse_test_source("test:64x48,fps=50")->format.rate_numerator, 50);
}

class BadSpec : public ::testing::TestWithParam<const char*> {};

TEST_P(BadSpec, IsAUsageErrorThatShowsTheSyntax) {
  const auto reader = open_reader(GetParam());
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().kind, ErrorKind::usage);
  EXPECT_THAT(reader.error().message, HasSubstr(GetParam()));
  EXPECT_THAT(reader.error().message, HasSubstr("test:WIDTHxHEIGHT[@FRAMES]"));
}

INSTANTIATE_TEST_SUITE_P(Texts, BadSpec,
                         ::testing::Values("test:", "test:64", "test:64x", "test:x48", "test:0x48",
                                           "test:64x-1", "test:64x48x2", "test:32769x2", "test:99999999999x2",
                                           "test:64x48@", "test:64x48@0", "test:64x48@-1", "test:64x48@1e3",
                                           "test:64x48@9999999999", "test:64x48,,", "test:64x48,411",
                                           "test:64x48,420p7", "test:64x48,420p17", "test:64x48,420p",
                                           "test:64x48,fps=0", "test:64x48,fps=1/0",
                                           "test:64x48,fps=", "test:64x48,seed=x", "test: 64x48"));

TEST(TestSource, RefusesAPictureAboveTheLimit) {
  const auto reader = open_reader("test:32768x32768,444p16");
  ASSERT_FALSE(reader);
  EXPECT_THAT(reader.error().message, HasSubstr("limit"));
}

TEST(TestSource, IsTheSameEveryTime) {
  for (const char* source :
       {"test:64x48@5", "test:17x33@5,422p12", "test:1x1@5,444p16", "test:3x200@5,gray"}) {
    const Delivered a = read_all(source);
    const Delivered b = read_all(source);
    ASSERT_EQ(a.frames.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i)
      EXPECT_TRUE(same_samples(a.frames[i], b.frames[i])) << source;
  }
}

// If the picture changed, every measurement made with it would silently change, too.
TEST(TestSource, HasNotChangedItsPicture) {
  const Delivered delivered = read_all("test:64x48@3,420p10");
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const Frame& frame : delivered.frames)
    for (int index = 0; index < 3; ++index) {
      const PlaneView plane = frame.plane(index);
      for (int y = 0; y < plane.height; ++y)
        for (int x = 0; x < plane.width; ++x)
          hash = (hash ^ plane.row<std::uint16_t>(y)[x]) * 0x100000001b3U;
    }
  EXPECT_EQ(hash, 10583672308354448426U);
}

TEST(TestSource, HasTheSamePictureAtEveryDepth) {
  const Delivered deep = read_all("test:64x48@2,444p16");
  for (const int bits : {8, 9, 10, 12, 14}) {
    const Delivered shallow = read_all(fmt::format("test:64x48@2,444p{}", bits));
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(within_bit_depth(shallow.frames[i]));
      for (int plane = 0; plane < 3; ++plane)
        for (int y = 0; y < 48; ++y)
          for (int x = 0; x < 64; ++x) {
            const int exact = deep.frames[i].plane(plane).row<std::uint16_t>(y)[x];
            const int seen = bits == 8 ? shallow.frames[i].plane(plane).row<std::uint8_t>(y)[x]
                                       : shallow.frames[i].plane(plane).row<std::uint16_t>(y)[x];
            ASSERT_EQ(seen, exact >> (16 - bits));
          }
    }
  }
}

TEST(TestSource, MovesAndDiffersByFrameAndSeed) {
  const Delivered frames = read_all("test:64x48@30");
  const Delivered other = read_all("test:64x48@30,seed=2");
  for (std::size_t i = 0; i < 29; ++i) {
    EXPECT_FALSE(same_samples(frames.frames[i], frames.frames[i + 1]));
    EXPECT_FALSE(same_samples(frames.frames[i], other.frames[i]));
  }
}

TEST(TestSource, UsesManyCodeValues) {
  const Delivered delivered = read_all("test:352x288@1");
  std::set<int> values;
  const PlaneView plane = delivered.frames[0].plane(0);
  for (int y = 0; y < plane.height; ++y)
    values.insert(plane.row<std::uint8_t>(y), plane.row<std::uint8_t>(y) + plane.width);
  EXPECT_GT(values.size(), 150U);
}

}  // namespace
}  // namespace millrace::video
