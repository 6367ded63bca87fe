#include "millrace/image/execute/neutral_planes.h"

#include <algorithm>

namespace millrace::image {
namespace {

template <class Sample> void fill_with(const PixelView& view, float sample) {
  for (int y = view.covers.y0; y < view.covers.y1; ++y)
    std::fill_n(&view.pixel<Sample>(view.covers.x0, y), view.covers.width(), static_cast<Sample>(sample));
}

void fill_view(const PixelView& view, float sample) {
  switch (view.type) {
  case ElementType::u8:
    return fill_with<std::uint8_t>(view, sample);
  case ElementType::u16:
    return fill_with<std::uint16_t>(view, sample);
  case ElementType::f32:
    return fill_with<float>(view, sample);
  }
}

}  // namespace

Status NeutralPlanes::fill(const FrameTask& frame, pool::Team& team) const {
  return team.run([&](int rank) {
    for (const Plane& each : planes_) {
      const PixelView& view = frame.destinations[each.plane];
      const Rect band = band_of(view.covers, team.size(), rank);
      if (!band.empty()) fill_view(view.part(band), each.sample);
    }
  });
}

}  // namespace millrace::image
