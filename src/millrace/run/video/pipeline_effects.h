// What a pipeline means for what comes with a video beside its samples.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/pipeline/pipeline.h"
#include "millrace/video/frame/frame.h"

#include <string_view>

namespace millrace::run {

// Usage error, which calls the video `name`, where rows of two fields would be mixed.
[[nodiscard]] Status check_fields(const image::Pipeline& pipeline, const video::FrameFormat& input,
                                  std::string_view name);

// The same for one frame of such a video, whose fields may be others than its format says: a failure, which
// says how to go on.
[[nodiscard]] Status check_frame_fields(const image::Pipeline& pipeline, const video::FrameFormat& input,
                                        const video::Frame& frame, std::string_view name);

// Without what no longer holds. Null stays null.
[[nodiscard]] video::SharedProperties after_pipeline(const video::SharedProperties& properties,
                                                     const image::Pipeline& pipeline);

}  // namespace millrace::run
