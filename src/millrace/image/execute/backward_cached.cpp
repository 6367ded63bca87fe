#include "millrace/image/execute/backward_cached.h"

namespace millrace::image {
namespace {

int parts(int length, int part) { return (length + part - 1) / part; }

// A side of 0 means the whole plane.
Size effective(Size granule, Size plane) {
  return {granule.width > 0 ? granule.width : plane.width,
          granule.height > 0 ? granule.height : plane.height};
}

}  // namespace

GranuleMap::GranuleMap(Size plane, Size granule)
    : plane_(plane), granule_(effective(granule, plane)), columns_(parts(plane.width, granule_.width)),
      words_(parts(columns_ * parts(plane.height, granule_.height), 64)) {}

void GranuleMap::clear() {
  // Between frames nobody else looks; the fork that starts the next frame publishes this.
  for (auto& word : words_)
    word.store(0, std::memory_order_relaxed);
}

Rect GranuleMap::touched(const Rect& rect) const {
  return {rect.x0 / granule_.width, rect.y0 / granule_.height, parts(rect.x1, granule_.width),
          parts(rect.y1, granule_.height)};
}

Rect GranuleMap::granule(int column, int row) const {
  const Rect rect{column * granule_.width, row * granule_.height, (column + 1) * granule_.width,
                  (row + 1) * granule_.height};
  return intersection(rect, whole(plane_));
}

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
  const Rect touched = cache.map.touched(rect);
  for (int row = touched.y0; row < touched.y1; ++row) {
    for (int column = touched.x0; column < touched.x1; ++column) {
      const int index = cache.map.index(column, row);
      if (cache.map.valid(index)) continue;
      compute_from_caches(frame, p, g, cache.buffer.view().part(cache.map.granule(column, row)), rank);
      cache.map.mark(index);
    }
  }
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
