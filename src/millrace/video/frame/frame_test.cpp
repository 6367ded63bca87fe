#include "millrace/video/frame/frame.h"
#include "millrace/video/frame/frame_pool.h"
#include "millrace/video/video_testing.h"

#include <cstdint>
#include <numeric>
#include <thread>

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
  // 4 GiB samples of 16 bits for each of many frames: more than any address space has.
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

}  // namespace
}  // namespace millrace::video
