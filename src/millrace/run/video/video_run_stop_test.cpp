#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/testing/eventually_testing.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/run/video/video_run_testing.h"

#include <fcntl.h>
#include <future>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

namespace millrace::run {
namespace {

using ::testing::HasSubstr;

TEST_F(VideoRunTest, FailsWithoutAnyFrame) {
  Counting frames(0);
  std::vector<int> samples;
  VideoRun run(*context_, source_of(frames), sink_to(samples), {.pipeline = parsed("blur")});
  const Status done = run.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::failure);
  EXPECT_THAT(done.error().message, HasSubstr("no frames"));
}

TEST_F(VideoRunTest, DeliversWhatASourceGaveBeforeItFailed) {
  Counting frames(40);
  std::vector<int> samples;
  VideoRun run(*context_,
               frames_source(small_gray,
                             [&](const std::stop_token&) -> Result<std::optional<video::Frame>> {
                               if (frames.given() == 5) return failure("the camera fell");
                               return frames.next();
                             }),
               sink_to(samples), {.pipeline = parsed("blur")});
  const Status done = run.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "the camera fell");
  EXPECT_EQ(samples, numbers(0, 5));
  EXPECT_EQ(run.record().frames, 5);
}

TEST_F(VideoRunTest, RefusesAFrameOfAnotherFormat) {
  Counting frames(3);
  Counting others(1, {.width = 8, .height = 4, .chroma = video::Chroma::gray});
  std::vector<int> samples;
  VideoRun run(*context_,
               frames_source(small_gray,
                             [&](const std::stop_token&) {
                               return frames.given() == 2 ? others.next() : frames.next();
                             }),
               sink_to(samples), {.pipeline = parsed("blur")});
  const Status done = run.run();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("frame 2"));
  EXPECT_THAT(done.error().message, HasSubstr("8x4"));
  EXPECT_EQ(samples, numbers(0, 2));
}

TEST_F(VideoRunTest, EndsSoonAfterItsSinkFails) {
  Counting frames(200);
  int taken = 0;
  VideoRun run(*context_, source_of(frames), frames_sink([&](const video::Frame&) -> Status {
    if (taken == 3) return failure("the shelf is full");
    ++taken;
    return {};
  }),
               {.pipeline = parsed("blur")});
  const Status done = run.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "the shelf is full");
  EXPECT_EQ(taken, 3);
  EXPECT_LT(frames.given(), 200);
  EXPECT_EQ(run.record().frames, 3) << "what waited for a sink that failed was not taken";
  EXPECT_EQ(run.progress().frames, 3);
}

TEST_F(VideoRunTest, WhatFailsBesideAStopIsToldWithIt) {
  for (const int room : {0, 3}) {
    Counting frames(1 << 30);
    std::stop_source stop;
    int taken = 0;
    VideoRun run(*context_, source_of(frames), frames_sink([&](const video::Frame&) -> Status {
      if (taken == room) {
        stop.request_stop();
        return failure("the shelf is full");
      }
      ++taken;
      return {};
    }),
                 {.pipeline = parsed("blur"), .stop = stop.get_token()});
    const Status done = run.run();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, ErrorKind::interrupted);
    EXPECT_EQ(done.error().message, fmt::format("interrupted after {} frames; the shelf is full", room));
  }
}

// A reader that has opened the pipe but does not read.
class VideoRunToASleeper : public VideoRunTest, public ::testing::WithParamInterface<bool> {};

TEST_P(VideoRunToASleeper, EndsWhenItIsStopped) {
  TemporaryFolder folder;
  const std::string pipe = folder / "out.y4m";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto sleeper = Descriptor::owned(open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(sleeper.is_open());
  video::FrameFormat format = small_gray;
  format.width = 1280;  // a frame is larger than the largest pipe that the writer makes
  format.height = 960;
  Counting frames(1 << 30, format);
  VideoRun run(*context_, source_of(frames, std::nullopt, format), file_sink(pipe),
               {.pipeline = parsed("blur"), .keep_part = GetParam()});
  const std::jthread stopper([&](const std::stop_token& over) {
    // Until the first frame is written in part.
    const auto held = [&] {
      int bytes = 0;
      return ioctl(sleeper.get(), FIONREAD, &bytes) == 0 ? bytes : 0;
    };
    constexpr int more_than_header = 4096;
    static_cast<void>(eventually([&] { return held() >= more_than_header || over.stop_requested(); }));
    run.stop();
  });
  const Status done = run.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::interrupted);
  EXPECT_THAT(done.error().message, HasSubstr("interrupted after"));
  EXPECT_FALSE(run.record().output_complete) << "it ends within a frame";
}

INSTANTIATE_TEST_SUITE_P(KeepingWhatItTookOrNot, VideoRunToASleeper, ::testing::Bool());

TEST_F(VideoRunTest, StoppedFromOutsideKeepsWhatIsDone) {
  Counting frames(1 << 30);
  std::vector<int> samples;
  std::promise<void> some;
  VideoRun run(*context_, source_of(frames), frames_sink([&](const video::Frame&) -> Status {
    samples.push_back(0);
    if (samples.size() == 20) some.set_value();
    return {};
  }),
               {.pipeline = parsed("blur")});
  std::jthread stopper([&] {
    some.get_future().wait();
    run.stop();
  });
  const Status done = run.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::interrupted);
  EXPECT_GE(run.record().frames, 20);
  EXPECT_EQ(run.record().frames, std::ssize(samples));
}

TEST_F(VideoRunTest, StopEndsTheWaitOfACallersSource) {
  std::vector<int> samples;
  std::stop_source stop;
  Counting frames(2);
  VideoRun run(*context_,
               frames_source(small_gray,
                             [&](const std::stop_token& asked) -> Result<std::optional<video::Frame>> {
                               if (frames.given() < 2) return frames.next();
                               std::promise<void> forever;
                               const std::stop_callback end(asked, [&] { forever.set_value(); });
                               stop.request_stop();
                               forever.get_future().wait();
                               return failure("woken");
                             }),
               sink_to(samples), {.pipeline = parsed("blur"), .stop = stop.get_token()});
  const Status done = run.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::interrupted);
  EXPECT_EQ(run.record().frames, std::ssize(samples));
}

TEST_F(VideoRunTest, WhatIsStoppedBeforeItsFirstFrameDoesNotSpeakOfAnOutput) {
  Counting frames(5);
  std::vector<int> samples;
  std::stop_source stop;
  stop.request_stop();
  VideoRun run(*context_, source_of(frames, 5), sink_to(samples),
               {.pipeline = parsed("blur"), .stop = stop.get_token()});
  const Status done = run.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "interrupted after 0 frames; there is no output");
  EXPECT_TRUE(samples.empty());
}

TEST_F(VideoRunTest, WhatIsStoppedOnItsWayToNowhereDoesNotEither) {
  Counting frames(1 << 30);
  std::stop_source stop;
  VideoRunOptions options{.pipeline = parsed("blur"), .stop = stop.get_token()};
  options.on_progress = [&](const RunProgress&, const image::Schedule&) { stop.request_stop(); };
  VideoRun run(*context_, source_of(frames), file_sink("null"), options);
  const Status done = run.run();
  ASSERT_FALSE(done);
  EXPECT_GT(run.record().frames, 0);
  EXPECT_THAT(done.error().message, HasSubstr("there is no output"));
}

}  // namespace
}  // namespace millrace::run
