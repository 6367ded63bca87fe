// Structure `backward_cached`, see schedule.h.
#pragma once

#include "millrace/image/execute/plane_buffer.h"
#include "millrace/image/execute/structure_runner.h"

#include <atomic>

namespace millrace::image {

// Which granules of a frame are valid: one bit each, set once, never cleared while a frame is processed.
//
// Marking takes no lock. A worker that finds the bit unset computes the granule and then sets the bit with
// release order; one that reads the bit set with acquire order sees the pixels. Two workers may find it unset
// at the same time and both compute: kernels are deterministic, so both write the same bytes to the same
// places, and it does not matter whose store a reader sees. That costs a little work twice and never a wait.
class GranuleMap {
 public:
  GranuleMap(Size plane, Size granule);

  void clear();
  [[nodiscard]] bool valid(int index) const {
    return (words_[static_cast<std::size_t>(index) / 64].load(std::memory_order_acquire) >> (index % 64) &
            1) != 0;
  }
  void mark(int index) {
    words_[static_cast<std::size_t>(index) / 64].fetch_or(std::uint64_t{1} << (index % 64),
                                                          std::memory_order_release);
  }
  // Granules that a rectangle touches, as columns and rows.
  [[nodiscard]] Rect touched(const Rect& rect) const;
  [[nodiscard]] int index(int column, int row) const { return row * columns_ + column; }
  [[nodiscard]] Rect granule(int column, int row) const;
  [[nodiscard]] std::size_t bytes() const { return words_.size() * sizeof(std::uint64_t); }

 private:
  Size plane_;
  Size granule_;
  int columns_;
  std::vector<std::atomic<std::uint64_t>> words_;
};

class BackwardCachedRunner final : public StructureRunner {
 public:
  BackwardCachedRunner(std::shared_ptr<const FrameGroups> groups, int workers, Size granule);
  [[nodiscard]] std::size_t bytes() const override;

 private:
  struct Cache {
    PlaneBuffer buffer;
    GranuleMap map;
  };

  Status run_frame(const FrameTask& frame, pool::Team& team) override;
  void compute_from_caches(const FrameTask& frame, std::size_t plane, std::size_t group,
                           const PixelView& output, int rank);
  void ensure(const FrameTask& frame, std::size_t plane, std::size_t group, const Rect& rect, int rank);

  Size granule_;
  std::vector<std::vector<Cache>> caches_;  // for each plane, for each group but the last
};

}  // namespace millrace::image
