// Views of video frames for the executor.
#pragma once

#include "millrace/image/execute/structure_runner.h"
#include "millrace/video/frame/frame.h"

namespace millrace::run {

[[nodiscard]] inline std::vector<image::PixelView> views_of(const video::Frame& frame) {
  const auto codes = frame.format().bits > 8 ? image::ElementType::u16 : image::ElementType::u8;
  std::vector<image::PixelView> views;
  for (int p = 0; p < frame.planes(); ++p) {
    const video::PlaneView plane = frame.plane(p);
    const bool numbers = frame.format().forms.at(static_cast<std::size_t>(p)) == video::SampleForm::numbers;
    views.push_back({plane.data, plane.stride, image::whole({plane.width, plane.height}),
                     numbers ? image::ElementType::f32 : codes});
  }
  return views;
}

}  // namespace millrace::run
