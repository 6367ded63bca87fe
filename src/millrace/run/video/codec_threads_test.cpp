#include "millrace/run/video/bottleneck_share.h"
#include "millrace/run/video/codec_threads.h"
#include "millrace/run/video/run_record.h"
#include "millrace/run/video/video_sink.h"
#include "millrace/run/video/video_source.h"
#include "millrace/tuning/record/decision_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::run {
namespace {

using ::testing::HasSubstr;

TEST(CodecThreads, GoToWhatIsCodedAndTheDecodersNeverBeyondTheCores) {
  for (const int cores : {1, 2, 3, 8, 32, 256}) {
    EXPECT_EQ(choose_codec_threads(cores, false, false), (CodecThreads{1, 1}));
    const CodecThreads both = choose_codec_threads(cores, true, true);
    EXPECT_GE(both.decoder, std::min(cores, 2));
    EXPECT_GE(both.encoder, std::min(cores, 2));
    EXPECT_LE(both.decoder, cores);
    EXPECT_LE(both.encoder, cores + cores / 2);
    EXPECT_EQ(choose_codec_threads(cores, true, false).encoder, 1);
    EXPECT_EQ(choose_codec_threads(cores, false, true).decoder, 1);
  }
}

TEST(CodecThreads, OfTheEncoderAreHalfAsManyAgainWithManyCores) {
  EXPECT_EQ(choose_codec_threads(2, true, true).encoder, 2);
  EXPECT_EQ(choose_codec_threads(16, true, true).encoder, 24);
}

TEST(CodecThreads, SourcesAndSinksKnowWhetherTheyAreCoded) {
  for (const char* name : {"-", "a.y4m", "test:32x32@2"})
    EXPECT_FALSE(file_source(name).coded) << name;
  for (const char* name : {"a.mp4", "a.264", "a", "a.mkv"})
    EXPECT_TRUE(file_source(name).coded) << name;
  for (const char* name : {"-", "a.y4m", "null"})
    EXPECT_FALSE(file_sink(name).coded) << name;
  for (const char* name : {"a.mp4", "a.mkv"})
    EXPECT_TRUE(file_sink(name).coded) << name;
}

TEST(Bottleneck, IsWhatTheLoopWaitedForMostOfItsTime) {
  RunRecord record;
  record.wall_seconds = 10;
  EXPECT_EQ(bottleneck_of(record), Bottleneck::none);
  record.output_wait_seconds = 7;
  record.compute_seconds = 2;
  record.input_wait_seconds = 1;
  EXPECT_EQ(bottleneck_of(record), Bottleneck::output);
  std::swap(record.output_wait_seconds, record.input_wait_seconds);
  EXPECT_EQ(bottleneck_of(record), Bottleneck::input);
  // The filters take most of the time, but faster ones would only wait longer.
  std::swap(record.compute_seconds, record.input_wait_seconds);
  EXPECT_EQ(bottleneck_of(record), Bottleneck::input);
  record.input_wait_seconds = 0.5;
  EXPECT_EQ(bottleneck_of(record), Bottleneck::processing);
  record.compute_seconds = 0;
  EXPECT_EQ(bottleneck_of(record), Bottleneck::none);
}

// The schedule search and the summary must agree on whether filters are the bottleneck.
TEST(Bottleneck, IsTheFiltersWhereTheSearchWouldGainByThem) {
  for (int input = 0; input <= 20; ++input) {
    for (int output = 0; input + output <= 20; ++output) {
      const RunTimes times{.wall = 20,
                           .computing = 20.0 - input - output,
                           .input_wait = static_cast<double>(input),
                           .output_wait = static_cast<double>(output)};
      const double gained = gained_share(times.computing, times.input_wait + times.output_wait);
      const Bottleneck bound = bottleneck_of(times);
      EXPECT_EQ(bound == Bottleneck::processing, gained > 0.5) << input << ", " << output;
      if (!tuning::waits_mostly(gained)) continue;
      EXPECT_EQ(bound, input >= output ? Bottleneck::input : Bottleneck::output);
    }
  }
}

TEST(Bottleneck, IsSaidWithTheThreadsThatItHas) {
  RunRecord record;
  record.wall_seconds = 10;
  record.output_wait_seconds = 7;
  record.compute_seconds = 3;
  record.encoder_threads = 2;
  EXPECT_THAT(describe_bottleneck(record), HasSubstr("bound by its output"));
  EXPECT_THAT(describe_bottleneck(record), HasSubstr("70 %"));
  EXPECT_THAT(describe_bottleneck(record), HasSubstr("2 encoder threads"));
  EXPECT_THAT(describe_bottleneck(record), HasSubstr("30 % it was in filters"));
  record.encoder_threads = 0;
  EXPECT_THAT(describe_bottleneck(record), ::testing::Not(HasSubstr("encoder")));
}

}  // namespace
}  // namespace millrace::run
