// Builds one plane of a layout: its stages and the planes that they read.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/pipeline/pipeline.h"

#include <vector>

namespace millrace::image {

struct PlaneRequest {
  std::vector<PlaneGeometry> video;   // all planes of the video
  std::vector<PlaneGeometry> second;  // planes of the second video
  int plane = 0;                      // the plane to build
  Planes planes = Planes::all;
  video::SampleForms forms{};  // sample forms of the input
  video::SampleForms made{};   // requested sample forms of the output
  int bits = 0;                // of code values; 0: floats without conversion
  bool changing = false;       // parameters may change later
};

// The layout of that plane. The pipeline's output must not be RGB. Returns a usage error if a plane is too
// small for a filter or a filter does not accept its inputs.
[[nodiscard]] Result<PlaneLayout> build_plane(const Pipeline& pipeline, const PlaneRequest& request);

}  // namespace millrace::image
