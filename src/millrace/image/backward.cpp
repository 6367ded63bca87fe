#include "millrace/image/backward.h"

namespace millrace::image {

BackwardRunner::BackwardRunner(std::shared_ptr<const FrameGroups> groups, int workers, Size block, bool store)
    : StructureRunner(std::move(groups), workers), block_(block) {
  for (std::size_t p = 0; p < planes(); ++p) {
    std::vector<PlaneBuffer>& buffers = stored_.emplace_back();
    if (!store) continue;
    const Group& group = plane(p).output();
    for (int s : group.spec.stored) {
      buffers.emplace_back(group.planned[static_cast<std::size_t>(s)].output.size, ElementType::f32);
    }
  }
}

std::size_t BackwardRunner::bytes() const {
  std::size_t sum = 0;
  for (const auto& buffers : stored_) {
    for (const PlaneBuffer& buffer : buffers)
      sum += buffer.bytes();
  }
  return sum;
}

Status BackwardRunner::run_frame(const FrameTask& frame, pool::Team& team) {
  return team.run([&](int rank) {
    for (std::size_t p = 0; p < planes(); ++p) {
      std::vector<PixelView> stored;
      for (const PlaneBuffer& buffer : stored_[p])
        stored.push_back(buffer.view());
      const Rect band = band_of(frame.destinations[p].covers, team.size(), rank);
      if (band.empty()) continue;
      compute(rank, p, 0, std::span(&frame.sources[p], 1), frame.destinations[p].part(band), block_, stored);
    }
  });
}

}  // namespace millrace::image
