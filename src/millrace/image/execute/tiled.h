// Structure `tiled`, see schedule.h.
#pragma once

#include "millrace/image/execute/plane_buffer.h"
#include "millrace/image/execute/structure_runner.h"

namespace millrace::image {

class TiledRunner final : public StructureRunner {
 public:
  TiledRunner(std::shared_ptr<const FrameGroups> groups, int workers, Size tile);
  [[nodiscard]] std::size_t bytes() const override;

 private:
  // Private to a worker; on cache lines of its own.
  struct alignas(128) WorkerMemory {
    Scratch scratch;
    std::vector<Rect> regions;  // of each group, for the tile at hand
    std::vector<PixelView> views;
  };

  Status run_frame(const FrameTask& frame, pool::Team& team) override;
  void compute_tile(const FrameTask& frame, std::size_t plane, const Rect& tile, int rank);

  Size tile_;
  std::vector<std::vector<Rect>> tiles_;  // of each plane, row by row
  std::vector<WorkerMemory> workers_;
};

}  // namespace millrace::image
