#include "millrace/video/frame/clip_time.h"
#include "millrace/video/frame/frame.h"
#include "millrace/video/frame/frame_pool.h"
#include "millrace/video/frame/orientation.h"
#include "millrace/video/video_testing.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::video {
namespace {

using namespace millrace::video::testing;

class FrameLayout : public ::testing::TestWithParam<std::tuple<Chroma, int, std::pair<int, int>>> {
 protected:
  FrameFormat format() const {
    const auto [chroma, bits, size] = GetParam();
    return {.width = size.first, .height = size.second, .chroma = chroma, .bits = bits};
  }
};

TEST_P(FrameLayout, GivesEveryPlaneAlignedRowsThatDoNotOverlap) {
  Frame frame(format());
  ASSERT_FALSE(frame.empty());
  std::size_t samples = 0;
  const std::byte* behind = nullptr;
  for (int index = 0; index < frame.planes(); ++index) {
    const PlaneView plane = frame.plane(index);
    const std::ptrdiff_t used = std::ptrdiff_t{plane.width} * bytes_per_sample(format());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(plane.data) % 64, 0U);
    EXPECT_EQ(plane.stride % 64, 0);
    EXPECT_GE(plane.stride, used);
    if (behind != nullptr) {
      EXPECT_GE(plane.data, behind);
    }
    behind = plane.data + plane.stride * plane.height;
    samples += static_cast<std::size_t>(plane.width) * static_cast<std::size_t>(plane.height);
    for (int y = 0; y < plane.height; ++y)
      std::memset(plane.row<std::byte>(y), index + 1, static_cast<std::size_t>(used));
  }
  EXPECT_EQ(packed_bytes(format()), samples * static_cast<std::size_t>(bytes_per_sample(format())));
  EXPECT_GE(frame_bytes(format()), static_cast<std::size_t>(behind - frame.plane(0).data) + 64);
  for (int index = 0; index < frame.planes(); ++index)
    EXPECT_EQ(*frame.plane(index).row<std::uint8_t>(0), index + 1);
}

TEST_P(FrameLayout, CoversTheLumaWithChromaRoundedUp) {
  const int step_x = chroma_step_x(format().chroma);
  const int step_y = chroma_step_y(format().chroma);
  for (int plane = 1; plane < plane_count(format().chroma); ++plane) {
    EXPECT_GE(plane_width(format(), plane) * step_x, format().width);
    EXPECT_LT((plane_width(format(), plane) - 1) * step_x, format().width);
    EXPECT_GE(plane_height(format(), plane) * step_y, format().height);
    EXPECT_LT((plane_height(format(), plane) - 1) * step_y, format().height);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, FrameLayout,
                         ::testing::Combine(::testing::Values(Chroma::gray, Chroma::c420, Chroma::c422,
                                                              Chroma::c444),
                                            ::testing::Values(8, 10, 16),
                                            ::testing::Values(std::pair(1, 1), std::pair(17, 33),
                                                              std::pair(64, 48), std::pair(352, 1))));

TEST(Frame, CloneHasTheSameSamplesInMemoryOfItsOwn) {
  Frame frame = **(*open_reader("test:33x17@1,444p10"))->next();
  frame.index = 7;
  frame.timestamp = 99;
  const Frame copy = frame.clone();
  EXPECT_TRUE(same_samples(frame, copy));
  EXPECT_EQ(copy.index, 7);
  EXPECT_EQ(copy.timestamp, 99);
  *frame.plane(0).row<std::uint16_t>(0) ^= 1;
  EXPECT_FALSE(same_samples(frame, copy));
}

TEST(Frame, IsEmptyAfterAMove) {
  Frame frame({.width = 4, .height = 4});
  const Frame moved = std::move(frame);
  EXPECT_TRUE(frame.empty());  // NOLINT(bugprone-use-after-move): what is tested
  EXPECT_FALSE(moved.empty());
  EXPECT_TRUE(Frame().clone().empty());
}

TEST(Frame, TellsSamplesBeyondItsDepth) {
  for (const int bits : {9, 10, 12, 14, 15}) {
    Frame frame = **(*open_reader(fmt::format("test:19x7@1,422p{}", bits)))->next();
    EXPECT_TRUE(within_bit_depth(frame));
    frame.plane(2).row<std::uint16_t>(6)[9] = static_cast<std::uint16_t>(1 << bits);
    EXPECT_FALSE(within_bit_depth(frame));
  }
}

TEST(Frame, DescribesItsFormat) {
  EXPECT_EQ(to_string(FrameFormat{.width = 352, .height = 288}), "352x288 4:2:0 8 bit");
  EXPECT_EQ(to_string(FrameFormat{.width = 1, .height = 2, .chroma = Chroma::gray, .bits = 16}),
            "1x2 gray 16 bit");
}

TEST(FramePool, UsesTheMemoryOfDestroyedFramesAgain) {
  FramePool pool({.width = 64, .height = 48});
  for (int round = 0; round < 100; ++round) {
    const auto a = pool.acquire();
    const auto b = pool.acquire();
    ASSERT_TRUE(a && b);
    EXPECT_NE(a->plane(0).data, b->plane(0).data);
  }
  EXPECT_EQ(pool.buffers(), 2U);
}

TEST(FramePool, MayBeGoneBeforeItsFrames) {
  Frame frame;
  {
    FramePool pool({.width = 64, .height = 48});
    frame = *pool.acquire();
  }
  std::memset(frame.plane(2).data, 1, 32);
  EXPECT_EQ(*frame.plane(2).row<std::uint8_t>(0), 1);
}

// A live frame does not keep the memory of other frames.
TEST(FramePool, ThatIsGoneKeepsNothingThatWaits) {
  FrameFreeList list;
  std::byte* const used = list.take(64);
  std::byte* const waiting = list.take(64);
  list.give_back(waiting);
  list.close();
  EXPECT_EQ(list.buffers(), 2U);
  std::byte* const fresh = list.take(64);
  EXPECT_EQ(list.buffers(), 3U) << "nothing waited";
  list.give_back(fresh);
  list.give_back(used);  // the leak sanitizer checks that they are freed
}

// Covers sizes that share an allocation and sizes that do not, in any order.
TEST(FramePool, GivesEachFrameMemoryOfItsOwn) {
  for (const std::size_t bytes :
       {std::size_t{100}, std::size_t{98'304}, std::size_t{152'064}, std::size_t{152'065},
        std::size_t{700'000}, std::size_t{1'100'000}, std::size_t{3'000'000}}) {
    FrameFreeList list;
    std::mt19937 random(1);
    std::vector<std::byte*> taken;
    for (int round = 0; round < 200; ++round) {
      if (taken.empty() || random() % 3 != 0) {
        std::byte* const memory = list.take(bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0U);
        std::memset(memory, 0, bytes);
        taken.push_back(memory);
      } else {
        std::swap(taken[random() % taken.size()], taken.back());
        list.give_back(taken.back());
        taken.pop_back();
      }
      if (taken.size() > 40) break;
    }
    std::ranges::sort(taken);
    for (std::size_t i = 1; i < taken.size(); ++i)
      EXPECT_GE(static_cast<std::size_t>(taken[i] - taken[i - 1]), bytes);
    if (bytes > 500'000) list.close();  // the others are closed by the destructor
    for (std::byte* memory : taken)
      list.give_back(memory);
  }
}

TEST(FramePool, TakesFramesBackFromOtherThreads) {
  FramePool pool({.width = 16, .height = 16});
  for (int round = 0; round < 50; ++round) {
    std::thread other([frame = *pool.acquire()]() mutable { frame = Frame(); });
    other.join();
  }
  EXPECT_EQ(pool.buffers(), 1U);
}

TEST(FramePool, ReportsThatMemoryIsOut) {
#ifdef MILLRACE_SANITIZED
  GTEST_SKIP() << "sanitizers end the program instead";
#endif
  // 4 GiB samples of 16 bits per frame, for many frames: more than any address space.
  FramePool pool({.width = max_dimension, .height = max_dimension, .chroma = Chroma::c444, .bits = 16});
  std::vector<Frame> frames;
  for (int count = 0; count < 100'000; ++count) {
    auto frame = pool.acquire();
    if (!frame) {
      EXPECT_NE(frame.error().message.find("out of memory"), std::string::npos);
      return;
    }
    frames.push_back(*std::move(frame));
  }
  FAIL() << "memory without end";
}

// --- orientation

struct Turn {
  const char* title;
  Orientation orientation;
  std::vector<int> samples;  // of the picture 1 2 3 / 4 5 6, row by row
  int width;
};

class Oriented : public ::testing::TestWithParam<std::tuple<Turn, int>> {};

TEST_P(Oriented, PlaneHasItsSamplesWhereAHandPutsThem) {
  const auto& [turn, bits] = GetParam();
  const FrameFormat format{.width = 3, .height = 2, .chroma = Chroma::gray, .bits = bits};
  Frame from(format);
  Frame to(oriented(format, turn.orientation));
  const auto each = [bits](const Frame& frame, auto&& use) {
    for (int y = 0, i = 0; y < frame.format().height; ++y)
      for (int x = 0; x < frame.format().width; ++x, ++i) {
        if (bits == 8)
          use(frame.plane(0).row<std::uint8_t>(y)[x], i);
        else
          use(frame.plane(0).row<std::uint16_t>(y)[x], i);
      }
  };
  each(from, [](auto& sample, int i) { sample = static_cast<std::uint8_t>(i + 1); });
  orient_plane(from.plane(0), to.plane(0), bits == 8 ? 1 : 2, turn.orientation);
  std::vector<int> samples;
  each(to, [&](const auto& sample, int) { samples.push_back(sample); });
  EXPECT_EQ(samples, turn.samples);
  EXPECT_EQ(to.format().width, turn.width);
}

INSTANTIATE_TEST_SUITE_P(
    Turns, Oriented,
    ::testing::Combine(
        ::testing::Values(
            Turn{"upright", {}, {1, 2, 3, 4, 5, 6}, 3},
            Turn{"clockwise", {.transposed = true, .rows_mirrored = true}, {4, 1, 5, 2, 6, 3}, 2},
            Turn{"anticlockwise", {.transposed = true, .columns_mirrored = true}, {3, 6, 2, 5, 1, 4}, 2},
            Turn{"upside_down", {.columns_mirrored = true, .rows_mirrored = true}, {6, 5, 4, 3, 2, 1}, 3},
            Turn{"mirrored", {.columns_mirrored = true}, {3, 2, 1, 6, 5, 4}, 3},
            Turn{"transposed", {.transposed = true}, {1, 4, 2, 5, 3, 6}, 2}),
        ::testing::Values(8, 10)),
    [](const auto& test) {
      return fmt::format("{}_{}", std::get<0>(test.param).title, std::get<1>(test.param));
    });

TEST(Orientation, TurnsWhatAFormatSaysOfItsSamples) {
  FrameFormat format{.width = 64, .height = 48, .chroma = Chroma::c420};
  format.aspect_numerator = 4;
  format.aspect_denominator = 3;
  format.chroma_location = 1;  // left, between two rows
  const FrameFormat turned = oriented(format, {.transposed = true, .rows_mirrored = true});
  EXPECT_EQ(turned.width, 48);
  EXPECT_EQ(turned.aspect_numerator, 3);
  EXPECT_EQ(turned.aspect_denominator, 4);
  EXPECT_EQ(turned.chroma_location, 4);  // above, between two columns
  EXPECT_EQ(oriented(format, {.columns_mirrored = true}).chroma_location,
            0);  // right: H.273 has no name for it
  format.chroma = Chroma::c422;
  EXPECT_EQ(oriented(format, {.transposed = true}).chroma, Chroma::c444);
  EXPECT_EQ(oriented(format, {.rows_mirrored = true}).chroma, Chroma::c422);
}

// --- times

TEST(ClipTime, IsSecondsOrHoursMinutesAndSeconds) {
  for (const auto& [text, micros] : {std::pair("0", 0LL),
                                     {"12.5", 12'500'000LL},
                                     {"1:30", 90'000'000LL},
                                     {"0:01:30.25", 90'250'000LL},
                                     {"2:00:00", 7'200'000'000LL},
                                     {"0.0000019", 1LL},
                                     {"90", 90'000'000LL},
                                     {"3.", 3'000'000LL}})
    EXPECT_EQ(parse_clip_time(text, "--start"), micros) << text;
  for (const char* text : {"", "x", "-1", ".5", "1:60", "1:2:3:4", "1.5:3", "1..2", "1e3",
                           "99999999999999999999", ":1", "1:", " 1", "4000000000"}) {
    const auto time = parse_clip_time(text, "--start");
    ASSERT_FALSE(time) << text;
    EXPECT_EQ(time.error().kind, ErrorKind::usage);
    EXPECT_THAT(time.error().message, ::testing::HasSubstr("--start"));
  }
}

}  // namespace
}  // namespace millrace::video
