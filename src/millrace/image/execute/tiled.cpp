#include "millrace/image/execute/tiled.h"

#include "millrace/pool/for_range.h"

#include <algorithm>

namespace millrace::image {

TiledRunner::TiledRunner(std::shared_ptr<const FrameGroups> groups, int workers, Size tile)
    : StructureRunner(std::move(groups), workers), tile_(tile), workers_(workers) {
  std::size_t most_groups = 0;
  for (std::size_t p = 0; p < planes(); ++p) {
    std::vector<Rect>& tiles = tiles_.emplace_back();
    for_blocks(whole(plane(p).output().size()), tile_, [&](const Rect& rect) { tiles.push_back(rect); });
    most_groups = std::max(most_groups, plane(p).groups.size());
  }
  for (WorkerMemory& worker : workers_) {
    worker.regions.resize(most_groups);
    worker.views.resize(most_groups);
  }
}

std::size_t TiledRunner::bytes() const {
  std::size_t sum = 0;
  for (const WorkerMemory& worker : workers_)
    sum += worker.scratch.capacity();
  return sum;
}

void TiledRunner::compute_tile(const FrameTask& frame, std::size_t p, const Rect& tile, int rank) {
  WorkerMemory& memory = workers_[rank];
  const std::vector<Group>& groups = plane(p).groups;
  required_of_groups(plane(p), tile, {memory.regions.data(), groups.size()});

  std::size_t bytes = 0;
  for (std::size_t g = 0; g + 1 < groups.size(); ++g)
    bytes += Scratch::bytes_for(memory.regions[g], groups[g].type());
  memory.scratch.reserve(bytes);
  memory.scratch.reset();

  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Group& group = groups[g];
    const bool last = g + 1 == groups.size();
    memory.views[g] =
        last ? frame.destinations[p].part(tile) : memory.scratch.take(memory.regions[g], group.type());
    std::array<PixelView, max_kernel_buffers> inputs;
    for (std::size_t b = 0; b < group.inputs.size(); ++b) {
      const int from = group.inputs[b];
      inputs[b] = StageLayout::is_source(from) ? frame.source(plane(p), from) : memory.views[from];
    }
    compute(rank, p, g, {inputs.data(), group.inputs.size()}, memory.views[g],
            group.reads(memory.views[g].covers));
  }
}

Status TiledRunner::run_frame(const FrameTask& frame, pool::Team& team) {
  // One range over the tiles of all planes, so that the last ones even out between the workers.
  std::vector<std::int64_t> first{0};
  for (const auto& tiles : tiles_)
    first.push_back(first.back() + static_cast<std::int64_t>(tiles.size()));
  return pool::for_range(team, 0, first.back(), pool::Partition::guided, 1,
                         [&](std::int64_t begin, std::int64_t end, int rank) {
                           std::size_t p = 0;
                           for (std::int64_t i = begin; i < end; ++i) {
                             while (i >= first[p + 1])
                               ++p;
                             compute_tile(frame, p, tiles_[p][i - first[p]], rank);
                           }
                         });
}

}  // namespace millrace::image
