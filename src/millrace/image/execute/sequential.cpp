#include "millrace/image/execute/sequential.h"

#include <algorithm>

namespace millrace::image {
namespace {

// Block size for a gathering stage: small enough that most blocks touch no edge.
constexpr Size gather_block{256, 16};

}  // namespace

SequentialRunner::SequentialRunner(std::shared_ptr<const FrameGroups> groups, int workers)
    : StructureRunner(std::move(groups), workers) {
  for (std::size_t p = 0; p < planes(); ++p) {
    const std::vector<Group>& all = plane(p).groups;
    std::vector<std::size_t> last_reader(all.size(), 0);
    for (std::size_t g = 0; g < all.size(); ++g) {
      for (int input : all[g].inputs) {
        if (input >= 0) last_reader[input] = g;
      }
    }
    PlaneMemory& memory = memory_.emplace_back();
    std::vector<std::size_t> free_after;  // by buffer, the group after which it is free
    for (std::size_t g = 0; g + 1 < all.size(); ++g) {
      std::size_t chosen = memory.buffers.size();
      for (std::size_t b = 0; b < memory.buffers.size(); ++b) {
        if (free_after[b] < g && memory.buffers[b].size() == all[g].size() &&
            memory.buffers[b].view().type == all[g].type())
          chosen = b;
      }
      if (chosen == memory.buffers.size()) {
        memory.buffers.emplace_back(all[g].size(), all[g].type());
        free_after.push_back(0);
      }
      free_after[chosen] = last_reader[g];
      memory.buffer_of_group.push_back(static_cast<int>(chosen));
    }
    memory.buffer_of_group.push_back(-1);
  }
}

std::size_t SequentialRunner::bytes() const {
  std::size_t sum = 0;
  for (const PlaneMemory& memory : memory_) {
    for (const PlaneBuffer& buffer : memory.buffers)
      sum += buffer.bytes();
  }
  return sum;
}

PixelView SequentialRunner::output_view(const FrameTask& frame, std::size_t p, int group) const {
  if (StageLayout::is_source(group)) return frame.source(plane(p), group);
  const int buffer = memory_[p].buffer_of_group[group];
  return buffer < 0 ? frame.destinations[p] : memory_[p].buffers[buffer].view();
}

Status SequentialRunner::run_frame(const FrameTask& frame, pool::Team& team) {
  std::size_t steps = 0;
  for (std::size_t p = 0; p < planes(); ++p)
    steps = std::max(steps, plane(p).groups.size());
  for (std::size_t step = 0; step < steps; ++step) {
    // Every member works on its own band of each plane; run() is the barrier.
    const Status done = team.run([&](int rank) {
      for (std::size_t p = 0; p < planes(); ++p) {
        if (step >= plane(p).groups.size()) continue;
        const Group& group = plane(p).groups[step];
        std::array<PixelView, max_kernel_buffers> inputs;
        for (std::size_t b = 0; b < group.inputs.size(); ++b)
          inputs[b] = output_view(frame, p, group.inputs[b]);
        const PixelView output = output_view(frame, p, static_cast<int>(step));
        const Rect band = band_of(output.covers, team.size(), rank);
        if (band.empty()) continue;
        compute(rank, p, step, {inputs.data(), group.inputs.size()}, output.part(band), gather_block);
      }
    });
    if (!done) return done;
  }
  return {};
}

}  // namespace millrace::image
