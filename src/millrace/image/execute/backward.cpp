#include "millrace/image/execute/backward.h"

#include <algorithm>
#include <array>

namespace millrace::image {

BackwardRunner::BackwardRunner(std::shared_ptr<const FrameGroups> groups, int workers, Size block)
    : StructureRunner(std::move(groups), workers), block_(block) {
  for (std::size_t p = 0; p < planes(); ++p) {
    std::vector<Buffers>& of_plane = buffers_.emplace_back();
    for (const Group& group : plane(p).groups) {
      Buffers& buffers = of_plane.emplace_back();
      for (int s : group.spec.stored)
        buffers.stored.emplace_back(group.layouts[s].output.size,
                                    group.layouts[s].filter->simple().output_type);
      if (&group != &plane(p).output()) buffers.output = PlaneBuffer(group.size(), group.type());
    }
  }
}

std::size_t BackwardRunner::bytes() const {
  std::size_t sum = 0;
  for (const auto& of_plane : buffers_) {
    for (const Buffers& buffers : of_plane) {
      sum += buffers.output.bytes();
      for (const PlaneBuffer& buffer : buffers.stored)
        sum += buffer.bytes();
    }
  }
  return sum;
}

PixelView BackwardRunner::written(std::size_t p, int stage) const {
  for (std::size_t g = 0; g < plane(p).groups.size(); ++g) {
    const Group& group = plane(p).groups[g];
    if (group.stages.back() == stage) return buffers_[p][g].output.view();
    for (std::size_t i = 0; i < group.spec.stored.size(); ++i) {
      if (group.stages[group.spec.stored[i]] == stage) return buffers_[p][g].stored[i].view();
    }
  }
  return {};
}

Status BackwardRunner::run_frame(const FrameTask& frame, pool::Team& team) {
  // Area of each group: the part of its output that is needed for the output or for a stored stage.
  std::vector<std::vector<Rect>> areas;
  for (std::size_t p = 0; p < planes(); ++p) {
    const std::vector<Rect> needed = required_regions(plane(p).layout, frame.destinations[p].covers);
    std::vector<Rect>& of_plane = areas.emplace_back();
    for (const Group& group : plane(p).groups) {
      Rect& area = of_plane.emplace_back(needed[group.stages.back()]);
      for (int s : group.spec.stored)
        area = bounding(area, needed[group.stages[s]]);
    }
  }
  return team.run([&](int rank) {
    for (std::size_t p = 0; p < planes(); ++p) {
      for (std::size_t g = plane(p).groups.size(); g-- > 0;) {
        const Rect band = band_of(areas[p][g], team.size(), rank);
        if (band.empty()) continue;
        const Buffers& buffers = buffers_[p][g];
        std::vector<PixelView> stored;
        for (const PlaneBuffer& buffer : buffers.stored)
          stored.push_back(buffer.view());
        const bool last = g + 1 == plane(p).groups.size();
        const PixelView output = last ? frame.destinations[p] : buffers.output.view();
        const std::vector<int>& sources = plane(p).groups[g].inputs;
        std::array<PixelView, max_kernel_buffers> inputs;
        for (std::size_t b = 0; b < sources.size(); ++b)
          inputs[b] = frame.source(plane(p), sources[b]);
        compute(rank, p, g, {inputs.data(), sources.size()}, output.part(band), block_, stored);
      }
    }
  });
}

}  // namespace millrace::image
