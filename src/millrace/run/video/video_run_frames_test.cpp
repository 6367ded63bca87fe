#include "millrace/machine/processor/isa.h"
#include "millrace/run/video/video_run_testing.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::run {
namespace {

using ::testing::HasSubstr;

struct Temporal {
  const char* pipeline;
  int (*expected)(int frame, int last);
};

// Samples are frame numbers, so that results of neighbouring frames can be computed by hand.
TEST_F(VideoRunTest, ReadsNeighbouringFramesWhichStandStillBeforeTheFirstAndAfterTheLast) {
  const Temporal cases[] = {
      {"temporal_average(3)", [](int n, int last) { return last == 0 ? 0 : n; }},
      {"temporal_average(5)",
       [](int n, int last) {
         int sum = 0;
         for (int d = -2; d <= 2; ++d)
           sum += std::clamp(n + d, 0, last);
         return (2 * sum + 5) / 10;  // to the nearest
       }},
      {"temporal_median(2)", [](int n, int) { return n; }},
      {"difference(3)", [](int n, int) { return std::min(n, 3); }},
      {"difference(2) | difference(1)", [](int n, int) { return n == 1 || n == 2 ? 1 : 0; }},
      {"temporal_median | blur | difference", [](int n, int) { return n == 0 ? 0 : 1; }},
  };
  for (const Temporal& each : cases) {
    for (const image::Structure structure : image::all_structures()) {
      for (const int in_flight : {1, 2}) {
        if (in_flight > context_->threads()) continue;
        // Skips repeated kernels, because compiling takes time.
        if (image::is_one_kernel(structure) && in_flight < std::min(2, context_->threads())) continue;
        for (const int count : {1, 2, 9}) {
          Counting frames(count);
          std::vector<int> samples;
          VideoRun run(*context_, source_of(frames), sink_to(samples),
                       {.pipeline = parsed(each.pipeline),
                        .schedule = image::Schedule{.structure = structure,
                                                    .fusion = image::Fusion::none,
                                                    .threads = in_flight,
                                                    .frames_in_flight = in_flight,
                                                    .isa = machine::best_isa()}});
          const Status done = run.run();
          ASSERT_TRUE(done) << done.error().message;
          std::vector<int> expected;
          for (int n = 0; n < count; ++n)
            expected.push_back(each.expected(n, count - 1));
          EXPECT_EQ(samples, expected)
              << each.pipeline << ", " << image::name_of(structure) << ", " << in_flight;
        }
      }
    }
  }
}

struct Beside {
  int rate;  // of the second video; the first has 25 frames per second
  int frames;
  const char* pipeline;
  std::vector<int> expected;  // for 6 frames
};

// Samples are frame numbers, which identify the frame shown.
TEST_F(VideoRunTest, ShowsBesideEachFrameTheLastOfTheSecondVideoThatHasBegun) {
  const char* const second_alone = "[input, second] | blend(normal)";
  const Beside cases[] = {
      {25, 9, second_alone, {0, 1, 2, 3, 4, 5}},
      {25, 3, second_alone, {0, 1, 2, 2, 2, 2}},
      {25, 1, second_alone, {0, 0, 0, 0, 0, 0}},
      {50, 99, second_alone, {0, 2, 4, 6, 8, 10}},
      {30, 99, second_alone, {0, 1, 2, 3, 4, 6}},
      {10, 99, second_alone, {0, 0, 0, 1, 1, 2}},
      {50, 99, "[input, second] | blend(subtract)", {0, 0, 0, 0, 0, 0}},
      {50, 99, "[second, input] | blend(subtract)", {0, 1, 2, 3, 4, 5}},
      // For neighbouring times: the frame of the second video shown at each of those times.
      {50, 99, "[input, second | difference(2)] | blend(normal)", {0, 2, 4, 4, 4, 4}},
      {50, 99, "[input, second | temporal_average(3)] | blend(normal)", {1, 2, 4, 6, 8, 9}},
  };
  for (const Beside& each : cases) {
    video::FrameFormat format = small_gray;
    format.rate_numerator = each.rate;
    Counting first(6);
    Counting second(each.frames, format);
    std::vector<int> samples;
    VideoRun run(*context_, source_of(first), sink_to(samples),
                 {.pipeline = parsed(each.pipeline),
                  .second = source_of(second, {}, format),
                  .schedule = image::Schedule{.structure = image::Structure::sequential,
                                              .fusion = image::Fusion::none,
                                              .isa = machine::best_isa()}});
    const Status done = run.run();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(samples, each.expected) << each.pipeline << " beside " << each.rate << " frames a second";
    EXPECT_EQ(run.record().second_format, format);
  }
}

// Both are trimmed from one film of 30 frames per second; one has times in milliseconds.
TEST_F(VideoRunTest, PairsFramesOfOneMomentThoughClocksRound) {
  video::FrameFormat exact = small_gray;
  exact.rate_numerator = 30;
  exact.time_base_numerator = 1;
  exact.time_base_denominator = 15360;
  video::FrameFormat coarse = exact;
  coarse.time_base_denominator = 1000;
  const auto timed = [](Counting& frames, const video::FrameFormat& format) {
    return frames_source(format, [&frames, format, n = 0](const std::stop_token&) mutable {
      auto frame = frames.next();
      if (frame && *frame)
        (*frame)->timestamp = 77 + std::lround(n++ * double(format.time_base_denominator) / 30);
      return frame;
    });
  };
  for (const bool first_is_exact : {true, false}) {
    const auto [one, other] = first_is_exact ? std::pair(exact, coarse) : std::pair(coarse, exact);
    Counting first(40, one);
    Counting second(40, other);
    std::vector<int> samples;
    VideoRun run(*context_, timed(first, one), sink_to(samples),
                 {.pipeline = parsed("[input, second] | blend(normal)"),
                  .second = timed(second, other),
                  .schedule = image::Schedule{.structure = image::Structure::sequential,
                                              .fusion = image::Fusion::none,
                                              .isa = machine::best_isa()}});
    const Status done = run.run();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(samples, numbers(0, 40));
  }
}

TEST_F(VideoRunTest, SaysWhatIsWrongWithASecondVideo) {
  const auto outcome = [&](const char* pipeline, const VideoSource& beside) {
    Counting first(3);
    std::vector<int> samples;
    VideoRunOptions options{.pipeline = parsed(pipeline)};
    if (beside.open) options.second = beside;
    const Status done = VideoRun(*context_, source_of(first), sink_to(samples), std::move(options)).run();
    return done ? "" : done.error().message;
  };
  Counting none(0);
  EXPECT_THAT(outcome("[input, second] | blend(add)", source_of(none)), HasSubstr("has no frames"));
  EXPECT_THAT(outcome("[input, second] | blend(add)", {}), HasSubstr("reads a second video"));
  const video::FrameFormat large{.width = 8, .height = 4, .chroma = video::Chroma::gray};
  Counting larger(3, large);
  EXPECT_THAT(outcome("[input, second] | blend(add)", source_of(larger, {}, large)),
              HasSubstr("resize(6, 4)"));
  const video::FrameFormat colours{.width = 6, .height = 4};
  Counting coloured(3, colours);
  EXPECT_THAT(outcome("[input, second] | blend(add)", source_of(coloured, {}, colours)),
              HasSubstr("other samples than the first"));
}

// Each frame reads 4 frames before and 1 after. If the video began or ended there, results would differ.
TEST_F(VideoRunTest, FramesAroundAreReadAndNotMade) {
  for (const int in_flight : {1, 2}) {
    if (in_flight > context_->threads()) continue;
    Counting frames(4 + 3 + 1);
    std::vector<int> samples;
    VideoRun run(*context_, source_of(frames, 8), sink_to(samples),
                 {.pipeline = parsed("difference(3) | temporal_average(3)"),
                  .first_frame = 4,
                  .around = {.before = 4, .after = 1},
                  .schedule = image::Schedule{.threads = in_flight, .frames_in_flight = in_flight}});
    const Status done = run.run();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(samples, (std::vector<int>{3, 3, 3}));
    EXPECT_EQ(run.record().frames, 3);
    EXPECT_EQ(run.progress().total, 3);
  }
}

}  // namespace
}  // namespace millrace::run
