#include "millrace/image/execute/backward_cached.h"

namespace millrace::image {

BackwardCachedRunner::BackwardCachedRunner(std::shared_ptr<const FrameGroups> groups, int workers,
                                           Size granule)
    : StructureRunner(std::move(groups), workers), granule_(granule) {
  for (std::size_t p = 0; p < planes(); ++p) {
    std::vector<Cache>& caches = caches_.emplace_back();
    for (std::size_t g = 0; g + 1 < plane(p).groups.size(); ++g) {
      const Group& group = plane(p).groups[g];
      caches.push_back({PlaneBuffer(group.size(), group.type()), GranuleMap(group.size(), granule)});
    }
  }
}

std::size_t BackwardCachedRunner::bytes() const {
  std::size_t sum = 0;
  for (const auto& caches : caches_) {
    for (const Cache& cache : caches)
      sum += cache.buffer.bytes() + cache.map.bytes();
  }
  return sum;
}

void BackwardCachedRunner::compute_from_caches(const FrameTask& frame, std::size_t p, std::size_t g,
                                               const PixelView& output, int rank) {
  const Group& group = plane(p).groups[g];
  const GroupReads reads = group.reads(output.covers);
  std::array<PixelView, max_kernel_buffers> inputs;
  for (std::size_t b = 0; b < group.inputs.size(); ++b) {
    const int from = group.inputs[b];
    if (StageLayout::is_source(from)) {
      inputs[b] = frame.source(plane(p), from);
      continue;
    }
    ensure(frame, p, from, reads.inputs[b], rank);
    inputs[b] = caches_[p][from].buffer.view();
  }
  compute(rank, p, g, {inputs.data(), group.inputs.size()}, output, reads);
}

void BackwardCachedRunner::ensure(const FrameTask& frame, std::size_t p, std::size_t g, const Rect& rect,
                                  int rank) {
  if (rect.empty()) return;
  Cache& cache = caches_[p][g];
  const auto compute_claimed = [&](std::optional<GranuleMap::Claim> claim, int column, int row) {
    if (!claim) return;
    compute_from_caches(frame, p, g, cache.buffer.view().part(cache.map.granule(column, row)), rank);
    claim->computed();
  };
  const Rect touched = cache.map.touched(rect);
  const auto for_granules = [&](auto&& visit) {
    for (int row = touched.y0; row < touched.y1; ++row) {
      for (int column = touched.x0; column < touched.x1; ++column) {
        const int index = cache.map.index(column, row);
        if (!cache.map.valid(index)) visit(index, column, row);
      }
    }
  };
  // Granules claimed by others may be done after the rest is computed here.
  bool others_compute = false;
  for_granules([&](int index, int column, int row) {
    auto claim = cache.map.claim(index);
    if (!claim) others_compute = true;
    compute_claimed(std::move(claim), column, row);
  });
  if (!others_compute) return;
  for_granules([&](int index, int column, int row) { compute_claimed(cache.map.await(index), column, row); });
}

Status BackwardCachedRunner::run_frame(const FrameTask& frame, pool::Team& team) {
  for (auto& caches : caches_) {
    for (Cache& cache : caches)
      cache.map.clear();
  }
  return team.run([&](int rank) {
    for (std::size_t p = 0; p < planes(); ++p) {
      const Rect band = band_of(frame.destinations[p].covers, team.size(), rank);
      if (band.empty()) continue;
      for_blocks(band, granule_, [&](const Rect& rect) {
        compute_from_caches(frame, p, plane(p).groups.size() - 1, frame.destinations[p].part(rect), rank);
      });
    }
  });
}

}  // namespace millrace::image
