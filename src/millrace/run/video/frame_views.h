// Frames of video as the views that the executor takes.
#pragma once

#include "millrace/image/execute/structure_runner.h"
#include "millrace/video/frame/frame.h"

namespace millrace::run {

[[nodiscard]] inline std::vector<image::PixelView> views_of(const video::Frame& frame) {
  const bool codes = frame.format().form == video::SampleForm::codes;
  const auto type = !codes                    ? image::ElementType::f32
                    : frame.format().bits > 8 ? image::ElementType::u16
                                              : image::ElementType::u8;
  std::vector<image::PixelView> views;
  for (int p = 0; p < frame.planes(); ++p) {
    const video::PlaneView plane = frame.plane(p);
    views.push_back({plane.data, plane.stride, image::whole({plane.width, plane.height}), type});
  }
  return views;
}

}  // namespace millrace::run
