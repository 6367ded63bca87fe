#include "millrace/run/video/frame_window.h"
#include "millrace/video/frame/frame_pool.h"

#include <gtest/gtest.h>

namespace millrace::run {
namespace {

const video::FrameFormat one_pixel = {.width = 1, .height = 1, .chroma = video::Chroma::gray};

// A source with this many frames, then the end or a failure.
class FrameWindowTest : public testing::Test {
 protected:
  void open(std::int64_t frames, bool fails) {
    source_ = frames_source(one_pixel,
                            [this, frames, fails, given = std::int64_t{0}](
                                const std::stop_token&) mutable -> Result<std::optional<video::Frame>> {
                              if (given == frames && fails) return failure("the source ran dry");
                              if (given == frames) return std::nullopt;
                              ++given;
                              auto frame = pool_.acquire();
                              if (!frame) return std::unexpected(frame.error());
                              return std::optional(std::move(*frame));
                            });
    input_.emplace(source_, video::ReaderOptions{}, 1, video::Clip{});
    ASSERT_TRUE(input_->open());
    input_->start({});
    window_.emplace(*input_, nullptr);
  }

  video::FramePool pool_{one_pixel};
  VideoSource source_;
  std::optional<InputPasses> input_;
  std::optional<FrameWindow> window_;
};

TEST_F(FrameWindowTest, HoldsWhatWasReadAndIsNotForgotten) {
  open(10, false);
  EXPECT_EQ(window_->end(), 0);
  window_->read_as_far_as(4);
  EXPECT_EQ(window_->end(), 5);
  for (int number = 0; number < 5; ++number)
    EXPECT_EQ(window_->frame(number).index, number);
  window_->forget_before(3);
  EXPECT_EQ(window_->end(), 5);
  EXPECT_EQ(window_->frame(3).index, 3);
  EXPECT_EQ(window_->frame(4).index, 4);
  EXPECT_LE(window_->came_ns(3), window_->came_ns(4));
  EXPECT_GE(window_->end_of_those_there(), 5);
}

TEST_F(FrameWindowTest, StandsStillBeforeTheFirstFrameAndBehindTheLast) {
  open(3, false);
  window_->read_as_far_as(100);
  EXPECT_EQ(window_->end(), 3);
  EXPECT_EQ(window_->frame(-5).index, 0);
  EXPECT_EQ(window_->frame(100).index, 2);
  EXPECT_EQ(window_->came_ns(100), window_->came_ns(2));
  EXPECT_TRUE(window_->error());
}

TEST_F(FrameWindowTest, KeepsWhatCameBeforeAnError) {
  open(3, true);
  window_->read_as_far_as(1);
  EXPECT_TRUE(window_->error());
  for (const std::int64_t far : {5, 6}) {
    window_->read_as_far_as(far);
    EXPECT_EQ(window_->end(), 3);
    ASSERT_FALSE(window_->error());
    EXPECT_EQ(window_->error().error().message, "the source ran dry");
  }
  EXPECT_EQ(window_->frame(2).index, 2);
}

TEST_F(FrameWindowTest, OfNoFramesIsEmpty) {
  open(0, false);
  window_->read_as_far_as(0);
  EXPECT_EQ(window_->end(), 0);
  window_->forget_before(7);
  EXPECT_EQ(window_->end(), 0) << "what never came is not forgotten";
}

}  // namespace
}  // namespace millrace::run
