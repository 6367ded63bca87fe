// Structure `tiled`, see schedule.h.
#pragma once

#include "millrace/image/execute/plane_buffer.h"
#include "millrace/image/execute/shared_groups.h"
#include "millrace/image/execute/structure_runner.h"

namespace millrace::image {

// Planes that have groups in common are computed a tile of each at once where that saves work, so that what
// they share is computed once. Tiles of a smaller plane then show the same part of the picture as those of
// the largest one.
class TiledRunner final : public StructureRunner {
 public:
  TiledRunner(std::shared_ptr<const FrameGroups> groups, int workers, Size tile);
  [[nodiscard]] std::size_t bytes() const override;

 private:
  // Private to a worker; on cache lines of its own.
  struct alignas(128) WorkerMemory {
    Scratch scratch;
    std::vector<Rect> tiles;    // of each plane of the set
    std::vector<Rect> regions;  // of each group, for the tiles at hand
    std::vector<PixelView> views;
  };
  // What is computed at once of the planes of one set.
  struct Tiling {
    SharedSet set;
    Size largest;             // plane of the set
    std::vector<Rect> tiles;  // of that plane, row by row
  };

  [[nodiscard]] Tiling tiling_of(SharedSet set) const;
  void tiles_of_planes(const Tiling& tiling, const Rect& tile, std::span<Rect> tiles) const;
  [[nodiscard]] bool is_worth_sharing(const Tiling& tiling) const;
  Status run_frame(const FrameTask& frame, pool::Team& team) override;
  void compute_tiles(const FrameTask& frame, const Tiling& tiling, const Rect& tile, int rank);

  Size tile_;
  std::vector<Tiling> tilings_;
  std::vector<WorkerMemory> workers_;
};

}  // namespace millrace::image
