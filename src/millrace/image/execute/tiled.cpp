#include "millrace/image/execute/tiled.h"

#include "millrace/pool/for_range.h"

#include <algorithm>

namespace millrace::image {
namespace {

// The part of a plane of size `plane` that shows the same as `tile` in one of size `of`. If tiles partition
// that plane, so do their parts.
Rect same_part(const Rect& tile, Size of, Size plane) {
  const auto scaled = [](int at, int from, int to) {
    return static_cast<int>(std::int64_t{at} * to / std::max(from, 1));
  };
  return {scaled(tile.x0, of.width, plane.width), scaled(tile.y0, of.height, plane.height),
          scaled(tile.x1, of.width, plane.width), scaled(tile.y1, of.height, plane.height)};
}

}  // namespace

TiledRunner::TiledRunner(std::shared_ptr<const FrameGroups> groups, int workers, Size tile)
    : StructureRunner(std::move(groups), workers), tile_(tile), workers_(workers) {
  for (SharedSet& set : share_groups(all_planes())) {
    Tiling tiling = tiling_of(std::move(set));
    if (is_worth_sharing(tiling)) {
      tilings_.push_back(std::move(tiling));
    } else {
      for (const std::size_t p : tiling.set.planes)
        tilings_.push_back(tiling_of(own_groups(all_planes(), p)));
    }
  }
  std::size_t most_groups = 0;
  std::size_t most_planes = 0;
  for (const Tiling& tiling : tilings_) {
    most_groups = std::max(most_groups, tiling.set.groups.size());
    most_planes = std::max(most_planes, tiling.set.planes.size());
  }
  for (WorkerMemory& worker : workers_) {
    worker.tiles.resize(most_planes);
    worker.regions.resize(most_groups);
    worker.views.resize(most_groups);
  }
}

TiledRunner::Tiling TiledRunner::tiling_of(SharedSet set) const {
  Tiling tiling{.set = std::move(set), .largest = {}, .tiles = {}};
  for (const std::size_t p : tiling.set.planes)
    tiling.largest = std::max(tiling.largest, plane(p).output().size(),
                              [](const Size& a, const Size& b) { return a.pixels() < b.pixels(); });
  for_blocks(whole(tiling.largest), tile_, [&](const Rect& rect) { tiling.tiles.push_back(rect); });
  return tiling;
}

void TiledRunner::tiles_of_planes(const Tiling& tiling, const Rect& tile, std::span<Rect> tiles) const {
  for (std::size_t i = 0; i < tiling.set.planes.size(); ++i)
    tiles[i] = same_part(tile, tiling.largest, plane(tiling.set.planes[i]).output().size());
}

// Judged from some of the tiles, because there can be one per pixel.
bool TiledRunner::is_worth_sharing(const Tiling& tiling) const {
  if (tiling.set.planes.size() == 1) return true;
  constexpr std::size_t most_looked_at = 16;
  const std::size_t step = std::max<std::size_t>(1, tiling.tiles.size() / most_looked_at);
  std::size_t saving = 0;
  std::size_t looked_at = 0;
  std::vector<Rect> rects(tiling.set.planes.size());
  for (std::size_t i = 0; i < tiling.tiles.size(); i += step, ++looked_at) {
    tiles_of_planes(tiling, tiling.tiles[i], rects);
    if (saves_pixels(all_planes(), tiling.set, rects)) ++saving;
  }
  return 2 * saving > looked_at;
}

std::size_t TiledRunner::bytes() const {
  std::size_t sum = 0;
  for (const WorkerMemory& worker : workers_)
    sum += worker.scratch.capacity();
  return sum;
}

void TiledRunner::compute_tiles(const FrameTask& frame, const Tiling& tiling, const Rect& tile, int rank) {
  WorkerMemory& memory = workers_[rank];
  const SharedSet& set = tiling.set;
  tiles_of_planes(tiling, tile, memory.tiles);
  required_of_set(all_planes(), set, {memory.tiles.data(), set.planes.size()},
                  {memory.regions.data(), set.groups.size()});

  std::size_t bytes = 0;
  for (std::size_t g = 0; g < set.groups.size(); ++g) {
    const SharedGroup& shared = set.groups[g];
    if (!shared.output && !memory.regions[g].empty())
      bytes += Scratch::bytes_for(memory.regions[g], plane(shared.plane).groups[shared.group].type());
  }
  memory.scratch.reserve(bytes);
  memory.scratch.reset();

  for (std::size_t g = 0; g < set.groups.size(); ++g) {
    const SharedGroup& shared = set.groups[g];
    const Group& group = plane(shared.plane).groups[shared.group];
    const Rect& region = memory.regions[g];
    memory.views[g] = {.covers = region, .type = group.type()};
    if (region.empty()) continue;
    memory.views[g] = shared.output ? frame.destinations[shared.plane].part(region)
                                    : memory.scratch.take(region, group.type());
    std::array<PixelView, max_kernel_buffers> inputs;
    for (std::size_t b = 0; b < shared.inputs.size(); ++b) {
      const int from = shared.inputs[b];
      inputs[b] = StageLayout::is_source(from) ? frame.source(plane(shared.plane), from) : memory.views[from];
    }
    compute(rank, shared.plane, shared.group, {inputs.data(), shared.inputs.size()}, memory.views[g],
            group.reads(region));
  }
}

Status TiledRunner::run_frame(const FrameTask& frame, pool::Team& team) {
  // One range over the tiles of all planes, so that the last tiles balance the load.
  std::vector<std::int64_t> first{0};
  for (const Tiling& tiling : tilings_)
    first.push_back(first.back() + static_cast<std::int64_t>(tiling.tiles.size()));
  return pool::for_range(team, 0, first.back(), pool::Partition::guided, 1,
                         [&](std::int64_t begin, std::int64_t end, int rank) {
                           std::size_t t = 0;
                           for (std::int64_t i = begin; i < end; ++i) {
                             while (i >= first[t + 1])
                               ++t;
                             compute_tiles(frame, tilings_[t], tilings_[t].tiles[i - first[t]], rank);
                           }
                         });
}

}  // namespace millrace::image
