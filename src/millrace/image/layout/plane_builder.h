// One plane of a layout: the stages that make it, of the planes that they read.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/pipeline/pipeline.h"

#include <vector>

namespace millrace::image {

struct PlaneRequest {
  std::vector<PlaneGeometry> video;   // all its planes
  std::vector<PlaneGeometry> second;  // those of the second video
  int plane = 0;                      // the one that is made
  Planes planes = Planes::all;
  video::SampleForms forms{};  // that they come in
  video::SampleForms made{};   // that they are asked for in
  int bits = 0;                // of code values; 0: floats, no conversions
  bool changing = false;       // other numbers of filters may follow
};

// The layout of that plane. The pipeline's output must not be RGB. Usage error where a plane is too small for
// a filter, and where filters cannot work on what they are given.
[[nodiscard]] Result<PlaneLayout> build_plane(const Pipeline& pipeline, const PlaneRequest& request);

}  // namespace millrace::image
