#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/run/video/video_run_testing.h"
#include "millrace/video/reader.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace millrace::run {
namespace {

TEST_F(VideoRunTest, TakesTheCallersFramesThroughThePipelineInOrder) {
  Counting frames(40);
  std::vector<int> samples;
  VideoRun run(*context_, source_of(frames, 40), sink_to(samples), {.pipeline = parsed("blur")});
  const Status done = run.run();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(samples, numbers(0, 40));
  EXPECT_EQ(run.record().frames, 40);
  EXPECT_EQ(run.record().input_format, small_gray);
  EXPECT_EQ(run.progress().frames, 40);
  EXPECT_EQ(run.progress().total, 40);
  EXPECT_GT(run.record().compute_seconds, 0);
  EXPECT_GE(run.record().wall_seconds, run.record().compute_seconds);
}

TEST(VideoSourceTest, PipesAndTheCallersFramesAreLive) {
  const TemporaryFolder folder;
  const std::string fifo = folder / "pipe.y4m";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_TRUE(file_source(fifo).live);
  EXPECT_TRUE(file_source("-").live);
  EXPECT_TRUE(frames_source(small_gray, {}).live);
  EXPECT_FALSE(file_source("test:64x48@3").live);
  EXPECT_FALSE(file_source(folder / "none.mp4").live);
}

TEST_F(VideoRunTest, HasRecordsOfItsOwnWhereAnotherRanBefore) {
  for (const int count : {30, 3}) {
    Counting frames(count);
    std::vector<int> samples;
    VideoRun run(*context_, source_of(frames), sink_to(samples),
                 {.pipeline = parsed("blur"), .schedule = image::Schedule{}});
    ASSERT_TRUE(run.run());
    EXPECT_EQ(run.record().frames, count);
    ASSERT_FALSE(run.record().stages.empty());
    EXPECT_EQ(run.record().stages[0].pixels_computed, count * 6 * 4);
    EXPECT_FALSE(run.progress().total);
  }
}

TEST_F(VideoRunTest, EndsBeforeTheSourceDoesWhereOnlySoManyFramesAreAskedFor) {
  Counting frames(40);
  std::vector<int> samples;
  VideoRun run(*context_, source_of(frames, 40), sink_to(samples), {.pipeline = parsed("blur"), .frames = 7});
  ASSERT_TRUE(run.run());
  EXPECT_EQ(samples, numbers(0, 7));
  EXPECT_EQ(run.progress().total, 7);
}

TEST_F(VideoRunTest, AnInputThatIsGoneAtALaterPassFailsTheRun) {
  TemporaryFolder folder;
  const std::string input = folder / "in.y4m";
  std::ofstream(input, std::ios::binary) << "YUV4MPEG2 W2 H1 Cmono\nFRAME\nabFRAME\ncd";
  std::vector<int> samples;
  VideoRunOptions options{.pipeline = parsed("blur"), .passes = 1'000'000};
  options.on_progress = [&](const RunProgress&, const image::Schedule&) { std::filesystem::remove(input); };
  VideoRun run(*context_, file_source(input), sink_to(samples), options);
  const Status done = run.run();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::failure) << done.error().message;
  EXPECT_GT(run.record().frames, 0);
}

TEST_F(VideoRunTest, SaysHowFarItIsWhileItRuns) {
  Counting frames(25);
  std::vector<int> samples;
  std::vector<std::int64_t> seen;
  VideoRun run(*context_, source_of(frames, 25), sink_to(samples),
               {.pipeline = parsed("blur"),
                .schedule = image::Schedule{},
                .on_progress = [&](const RunProgress& progress, const image::Schedule&) {
                  EXPECT_EQ(progress.total, 25);
                  seen.push_back(progress.frames);
                }});
  ASSERT_TRUE(run.run());
  ASSERT_EQ(seen.size(), 25U);
  EXPECT_EQ(seen.back(), 25);
}

TEST_F(VideoRunTest, WhatCannotBeDoneIsRefusedBeforeAnythingIsWritten) {
  TemporaryFolder folder;
  const std::string output = folder / "out.y4m";
  for (const VideoRunOptions& options :
       {VideoRunOptions{.pipeline = parsed("blur"), .changes = {"3:rotate.degrees=60"}},
        VideoRunOptions{.pipeline = parsed("crop(1)"), .changes = {"3:crop.fraction=0.5"}},
        VideoRunOptions{.pipeline = parsed("blur"), .passes = 2},
        VideoRunOptions{.pipeline = parsed("blur"), .schedule = image::Schedule{.threads = 5000}}}) {
    Counting frames(10);
    VideoRun run(*context_, source_of(frames), file_sink(output), options);
    const Status done = run.run();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, ErrorKind::usage) << done.error().message;
    EXPECT_FALSE(std::filesystem::exists(output));
  }
}

TEST_F(VideoRunTest, EveryPassOverAFileComesBehindTheOneBefore) {
  std::vector<std::int64_t> indices;
  VideoRun run(*context_, file_source("test:32x32@5"), frames_sink([&](const video::Frame& frame) -> Status {
    indices.push_back(frame.index);
    return {};
  }),
               {.pipeline = parsed("blur"), .frames = 12, .passes = 3});
  ASSERT_TRUE(run.run());
  EXPECT_EQ(indices.size(), 12U);
  EXPECT_TRUE(std::ranges::is_sorted(indices));
  EXPECT_EQ(run.progress().total, 12);
}

TEST_F(VideoRunTest, AFileHoldsWhatWasDoneBeforeTheSourceFailed) {
  TemporaryFolder folder;
  const std::string output = folder / "out.y4m";
  Counting frames(40);
  VideoRun run(*context_,
               frames_source(small_gray,
                             [&](const std::stop_token&) -> Result<std::optional<video::Frame>> {
                               if (frames.given() == 5) return failure("the camera fell");
                               return frames.next();
                             }),
               file_sink(output), {.pipeline = parsed("blur")});
  ASSERT_FALSE(run.run());
  auto reader = video::open_reader(output);
  ASSERT_TRUE(reader) << reader.error().message;
  int there = 0;
  for (auto frame = (*reader)->next(); frame && *frame; frame = (*reader)->next())
    ++there;
  EXPECT_EQ(there, 5);
}

}  // namespace
}  // namespace millrace::run
