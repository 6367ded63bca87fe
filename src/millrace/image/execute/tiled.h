// Structure `tiled`, see schedule.h.
#pragma once

#include "millrace/image/execute/plane_buffer.h"
#include "millrace/image/execute/shared_groups.h"
#include "millrace/image/execute/structure_runner.h"

namespace millrace::image {

// If planes share groups and it saves work, one tile of each plane is computed together, so that shared
// groups are computed once. Tiles of a smaller plane then show the same part of the picture as those of the
// largest one.
class TiledRunner final : public StructureRunner {
 public:
  TiledRunner(std::shared_ptr<const FrameGroups> groups, int workers, Size tile);
  [[nodiscard]] std::size_t bytes() const override;

 private:
  // Private to a worker; on separate cache lines.
  struct alignas(128) WorkerMemory {
    Scratch scratch;
    std::vector<Rect> tiles;    // by plane of the set
    std::vector<Rect> regions;  // by group, for the current tiles
    std::vector<PixelView> views;
  };
  // The planes of one set, which are computed together.
  struct Tiling {
    SharedSet set;
    Size largest;             // size of the largest plane of the set
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
