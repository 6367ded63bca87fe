#include "millrace/image/pipeline/presets.h"
#include "millrace/run/video/pipeline_effects.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::run {
namespace {

using testing::HasSubstr;

std::string refusal(const char* pipeline, video::Chroma chroma) {
  const video::FrameFormat input{
      .width = 16, .height = 16, .chroma = chroma, .field_order = video::FieldOrder::top_first};
  const Status checked = check_fields(image::load_pipeline(pipeline).value(), input, "in");
  return checked ? "" : checked.error().message;
}

// In 4:2:0, a chroma row belongs to luma rows of both fields.
TEST(PipelineEffects, redGreenAndBlueMixFieldsWhereChromaHasFewerRows) {
  EXPECT_THAT(refusal("yuv2rgb | binary", video::Chroma::c420), HasSubstr("yuv2rgb would mix the rows"));
  EXPECT_THAT(refusal("deinterlace | yuv2rgb | binary", video::Chroma::c420), "");
  EXPECT_THAT(refusal("yuv2rgb | binary", video::Chroma::c422), "");
  EXPECT_THAT(refusal("yuv2rgb | blur", video::Chroma::c422), HasSubstr("blur would mix the rows"));
}

// As used by callers that only read frames and pass them on.
TEST(PipelineEffects, aCropThatLeavesNothingOutMixesNoFields) {
  EXPECT_EQ(refusal("crop(1)", video::Chroma::c420), "");
  EXPECT_THAT(refusal("crop(0.5)", video::Chroma::c420), HasSubstr("crop would mix the rows"));
  EXPECT_THAT(refusal("crop(1) | blur", video::Chroma::c420), HasSubstr("blur would mix the rows"));
}

}  // namespace
}  // namespace millrace::run
