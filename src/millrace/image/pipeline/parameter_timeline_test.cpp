#include "millrace/image/pipeline/parameter_timeline.h"
#include "millrace/image/pipeline/presets.h"

#include <gtest/gtest.h>

namespace millrace::image {
namespace {

using Changes = std::vector<std::string>;

TEST(ParameterTimeline, aJumpHoldsFromItsFrameOn) {
  const auto pipeline = load_pipeline("@B");
  const auto timeline = ParameterTimeline::make(*pipeline, Changes{"300:rotate.degrees=60"});
  ASSERT_TRUE(timeline) << timeline.error().message;
  EXPECT_EQ(timeline->at(299), *pipeline);
  EXPECT_EQ(timeline->at(300), timeline->at(100'000));
  EXPECT_EQ(timeline->at(300), *load_pipeline("@C"));
  EXPECT_FALSE(timeline->changes_at(299));
  EXPECT_TRUE(timeline->changes_at(300));
  EXPECT_FALSE(timeline->changes_at(301));
}

TEST(ParameterTimeline, aRampGoesInEqualStepsAndEndsAtItsValue) {
  const auto pipeline = load_pipeline("rotate(10)");
  const auto timeline = ParameterTimeline::make(*pipeline, Changes{"5..14:rotate.degrees=30"});
  ASSERT_TRUE(timeline);
  const auto degrees = [&](std::int64_t frame) { return timeline->at(frame).nodes[0].values[0]; };
  EXPECT_EQ(degrees(4), 10);
  for (std::int64_t frame = 5; frame <= 14; ++frame) {
    EXPECT_NEAR(degrees(frame), 10 + 2 * static_cast<double>(frame - 4), 1e-9);
    EXPECT_TRUE(timeline->changes_at(frame));
  }
  EXPECT_EQ(degrees(15), 30);
  EXPECT_EQ(timeline->ends(), (std::vector<std::int64_t>{14}));
}

TEST(ParameterTimeline, changesFollowEachOtherInWhateverOrderTheyAreGiven) {
  const auto pipeline = load_pipeline("rotate(0) | threshold(0.2)");
  const auto timeline = ParameterTimeline::make(
      *pipeline, Changes{"20..29:rotate.degrees=0", "10:rotate.degrees=90", "10:threshold.keep=below"});
  ASSERT_TRUE(timeline) << timeline.error().message;
  EXPECT_EQ(timeline->at(19).nodes[0].values[0], 90);
  EXPECT_NEAR(timeline->at(24).nodes[0].values[0], 45, 1e-9);
  EXPECT_EQ(timeline->at(29).nodes[0].values[0], 0);
  EXPECT_EQ(timeline->at(10).nodes[1].values[1], 1);
}

TEST(ParameterTimeline, tellsHowManyFramesLieBetweenChangesAtLeast) {
  const auto pipeline = load_pipeline("rotate(0) | threshold(0.2)");
  const auto steady = [&](const Changes& changes) {
    return ParameterTimeline::make(*pipeline, changes)->steady_frames();
  };
  EXPECT_GT(steady({}), 1'000'000);
  EXPECT_GT(steady({"7:rotate.degrees=3"}), 1'000'000);
  EXPECT_EQ(steady({"30:rotate.degrees=0", "10:rotate.degrees=90", "10:threshold.keep=below"}), 20);
  EXPECT_EQ(steady({"10:rotate.degrees=90", "30..40:rotate.degrees=0"}), 1);
}

TEST(ParameterTimeline, stagesOfTheSameFilterAreToldApartByNumber) {
  const auto pipeline = load_pipeline("rotate(1) | rotate(2)");
  const auto timeline = ParameterTimeline::make(*pipeline, Changes{"0:rotate#2.degrees=5"});
  ASSERT_TRUE(timeline);
  EXPECT_EQ(timeline->at(0), *load_pipeline("rotate(1) | rotate(5)"));
}

TEST(ParameterTimeline, whatIsWrongIsNamedInOneLine) {
  const auto pipeline = load_pipeline("rotate(1) | rotate(2) | threshold(0.5) | discretise(8)");
  for (const auto& [text, part] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", "FRAME:STAGE.PARAMETER=VALUE"},
           {"5", "FRAME:STAGE.PARAMETER=VALUE"},
           {"5:rotate=3", "FRAME:STAGE.PARAMETER=VALUE"},
           {"x:threshold.t=0.3", "'x'"},
           {"-1:threshold.t=0.3", "frame number"},
           {"9..3:threshold.t=0.3", "'9..3'"},
           {"5:blur.x=3", "no stage 'blur'"},
           {"5:treshold.t=3", "did you mean 'threshold'"},
           {"5:rotate.degrees=3", "rotate#1 to rotate#2"},
           {"5:rotate#3.degrees=3", "rotate#1 to rotate#2"},
           {"5:threshold.level=3", "no parameter 'level'"},
           {"5:discretise.levels=1", "discretise: levels must be"},
           {"5:threshold.t=", "threshold: t must be"},
           {"5..9:discretise.levels=4", "no values in between"},
           {"5..9:threshold.keep=below", "no values in between"}}) {
    const auto refused = ParameterTimeline::make(*pipeline, Changes{text});
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().kind, ErrorKind::usage);
    EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message;
    EXPECT_EQ(refused.error().message.find('\n'), std::string::npos);
  }
  EXPECT_FALSE(ParameterTimeline::make(*pipeline, Changes{"5..9:threshold.t=0", "7:threshold.t=1"}));
}

TEST(ParameterTimeline, onlyWhatDecidesWhereToReadMakesAnotherScheduleLikely) {
  const auto differs = [](const char* before, const char* after) {
    return differs_for_schedules(*load_pipeline(before), *load_pipeline(after));
  };
  EXPECT_TRUE(differs("@B", "@C"));
  EXPECT_FALSE(differs("rotate(6)", "rotate(7)"));
  EXPECT_FALSE(differs("threshold(0.1)", "threshold(0.9)"));
  EXPECT_NE(parameter_class(*load_pipeline("@B")), parameter_class(*load_pipeline("@C")));
  EXPECT_EQ(parameter_class(*load_pipeline("rotate(30) | threshold(0.1)")),
            parameter_class(*load_pipeline("rotate(31) | threshold(0.9)")));
}

}  // namespace
}  // namespace millrace::image
