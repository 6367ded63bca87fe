// Effects of a pipeline on a video's interlaced fields and metadata.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/image/pipeline/pipeline.h"
#include "millrace/video/frame/frame.h"

#include <string_view>

namespace millrace::run {

// Usage error, which names the video `name`, if the pipeline would mix the rows of two fields.
[[nodiscard]] Status check_fields(const image::Pipeline& pipeline, const video::FrameFormat& input,
                                  std::string_view name);

// The same check for one frame, whose fields can differ from its format's. The failure says how to go on.
[[nodiscard]] Status check_frame_fields(const image::Pipeline& pipeline, const video::FrameFormat& input,
                                        const video::Frame& frame, std::string_view name);

// The properties that still hold after the pipeline. Null stays null.
[[nodiscard]] video::SharedProperties after_pipeline(const video::SharedProperties& properties,
                                                     const image::Pipeline& pipeline);

}  // namespace millrace::run
