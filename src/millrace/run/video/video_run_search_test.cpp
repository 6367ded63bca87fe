#include "millrace/base/error/clock.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/machine/processor/isa.h"
#include "millrace/run/video/video_run_testing.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::run {
namespace {

using ::testing::HasSubstr;

// Sources with a known length.
TEST_F(VideoRunTest, AShortRunTriesAndCompilesNothing) {
  Counting frames(12);
  std::vector<int> samples;
  VideoRun run(*context_, source_of(frames, 12), sink_to(samples), {.pipeline = parsed("blur | sobel_x")});
  ASSERT_TRUE(run.run());
  EXPECT_EQ(run.record().decisions->trials, 0);
  EXPECT_EQ(run.record().decisions->switches, 1);
  EXPECT_EQ(run.record().compile_seconds, 0);
}

TEST_F(VideoRunTest, WhyNothingWasTriedIsInTheRecord) {
  for (const char* input : {"test:64x48@40", "test:1280x720@40"}) {
    VideoRun run(*context_, file_source(input), frames_sink([](const video::Frame&) { return Status(); }),
                 {.pipeline = parsed("blur | sobel_x | sobel_y")});
    ASSERT_TRUE(run.run());
    const auto decisions = to_json(*run.record().decisions);
    EXPECT_EQ(decisions["trials"], 0);
    EXPECT_EQ(decisions["events"].front()["event"], "started");
    EXPECT_EQ(decisions["events"].dump().contains(R"("event":"no trial")"), decisions["searched"]) << input;
    // The last one if the machine is so busy that generating frames is slower than processing them.
    EXPECT_THAT(run.record().explanation,
                ::testing::AnyOf(HasSubstr("listing other candidates takes longer"),
                                 HasSubstr("frames left: a trial costs more than it can gain"),
                                 HasSubstr("the run waited for its input or output")));
  }
}

// With known and unknown length. Kernels compiled by an earlier run of the test may be tried before the first
// wait.
TEST_F(VideoRunTest, ARunThatWaitsForItsOutputTriesNextToNothingAndSaysSo) {
  for (const std::optional<std::int64_t> total :
       {std::optional<std::int64_t>(100), std::optional<std::int64_t>()}) {
    Counting frames(100);
    SearchOptions alone;  // waking workers of a busy machine would count as computing
    alone.adaptive.freedom = {.max_threads = 1, .isas = {machine::best_isa()}};
    // Waits longer than the frame took to come, however slow the machine is.
    std::int64_t returned_ns = now_ns();
    VideoRun run(*context_, source_of(frames, total), frames_sink([&](const video::Frame&) {
      const std::chrono::nanoseconds came_in(now_ns() - returned_ns);
      std::this_thread::sleep_for(
          std::max<std::chrono::nanoseconds>(std::chrono::milliseconds(6), 10 * came_in));
      returned_ns = now_ns();
      return Status();
    }),
                 {.pipeline = parsed("blur | sobel_x | sobel_y"), .schedule = alone});
    ASSERT_TRUE(run.run());
    EXPECT_LE(run.record().decisions->trials, 2);
    EXPECT_LT(run.record().decisions->bottleneck_share.value_or(1), 0.5);
    EXPECT_THAT(run.record().explanation, HasSubstr("the run waited for its input or output"));
  }
}

// Accepts frames like an encoder: its whole lookahead without waiting.
class LookingAhead final : public video::FrameWriter {
 public:
  explicit LookingAhead(std::int64_t ahead) : ahead_(ahead) {}
  [[nodiscard]] Status write(const video::Frame&) override {
    ++frames_;
    return {};
  }
  [[nodiscard]] Status finish() override { return {}; }
  [[nodiscard]] std::int64_t frames_written() const override { return frames_; }
  [[nodiscard]] std::int64_t frames_ahead() const override { return ahead_; }

 private:
  std::int64_t ahead_;
  std::int64_t frames_ = 0;
};

// A filling lookahead does not mean that filters are the bottleneck.
TEST_F(VideoRunTest, UntilItsEncoderIsFilledARunTriesNothing) {
  constexpr std::int64_t frames = 60;
  const video::FrameFormat large{.width = 1280, .height = 720, .chroma = video::Chroma::gray};
  for (const std::optional<std::int64_t> total :
       {std::optional<std::int64_t>(100'000), std::optional<std::int64_t>()}) {
    for (const std::int64_t ahead : {0, 20, 1000}) {
      Counting source(frames, large);
      VideoSink sink{.name = "an encoder"};
      sink.open = [ahead](const video::FrameFormat&,
                          const video::WriterOptions&) -> Result<std::unique_ptr<video::FrameWriter>> {
        return std::make_unique<LookingAhead>(ahead);
      };
      std::int64_t held_until = 0;
      VideoRunOptions options{.pipeline = parsed("levels(0, 1, 1.1)")};
      options.on_batch = [&](const RunSnapshot& batch) {
        if (batch.search->held()) held_until = batch.progress.frames;
        if (batch.search->held() && batch.search->searches()) {
          EXPECT_TRUE(batch.search->tuner().record().events().empty());
        }
      };
      VideoRun run(*context_, source_of(source, total, large), std::move(sink), options);
      const Status done = run.run();
      ASSERT_TRUE(done) << done.error().message;
      const RunDecisions& decisions = *run.record().decisions;
      // Plus the few batches needed to find the bottleneck.
      EXPECT_LE(held_until, ahead == 0 ? 0 : ahead + 8);
      if (ahead < frames) {
        EXPECT_TRUE(decisions.bottleneck_share);
        continue;
      }
      EXPECT_EQ(held_until, frames);
      EXPECT_EQ(decisions.trials, 0);
      EXPECT_EQ(decisions.searched(), !total);
      EXPECT_FALSE(decisions.bottleneck_share);
      EXPECT_THAT(run.record().explanation, HasSubstr("before anyone waits for it"));
    }
  }
}

// One frame of this takes a thousand times as long as encoding it.
TEST_F(VideoRunTest, FiltersThatTakeLongerThanAnyEncoderAreNotWaitedFor) {
  const video::FrameFormat small{.width = 64, .height = 48, .chroma = video::Chroma::gray};
  Counting source(20, small);
  VideoSink sink{.name = "an encoder"};
  sink.open = [](const video::FrameFormat&,
                 const video::WriterOptions&) -> Result<std::unique_ptr<video::FrameWriter>> {
    return std::make_unique<LookingAhead>(1000);
  };
  std::string slow = "median(2)";
  for (int i = 0; i < 20; ++i)
    slow += " | median(2)";
  VideoRunOptions options{.pipeline = parsed(slow)};
  bool held = true;
  options.on_batch = [&](const RunSnapshot& batch) { held = batch.search->held(); };
  VideoRun run(*context_, source_of(source, 20, small), std::move(sink), options);
  ASSERT_TRUE(run.run());
  EXPECT_FALSE(held);
}

// Raw H.264 only estimates its length while it is read.
TEST_F(VideoRunTest, WhatIsExpectedOfASourceCountsLikeWhatItSays) {
  TemporaryFolder folder;
  const std::string input = folder / "bare.264";
  VideoRun coding(*context_, file_source("test:64x48@10"), file_sink(folder / "a.mp4"),
                  {.pipeline = parsed("blur")});
  ASSERT_TRUE(coding.run());
  ASSERT_EQ(std::system(fmt::format("ffmpeg -v error -i '{}' -c copy '{}'", folder / "a.mp4", input).c_str()),
            0);
  for (const int passes : {1, 3}) {
    SearchOptions alone;  // waking workers of a busy machine would count as computing
    alone.adaptive.freedom = {.max_threads = 1, .isas = {machine::best_isa()}};
    VideoRun run(*context_, file_source(input), frames_sink([](const video::Frame&) { return Status(); }),
                 {.pipeline = parsed("blur"), .schedule = alone, .passes = passes});
    ASSERT_TRUE(run.run());
    EXPECT_EQ(run.record().frames, 10 * passes);
    EXPECT_EQ(run.record().decisions->searched(), false) << "it is soon over";
  }
}

}  // namespace
}  // namespace millrace::run
