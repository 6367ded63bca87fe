// What bounds every structure of a pipeline on one plane: moving its pixels, and computing them.
#pragma once

#include "millrace/image/execute/group_layout.h"
#include "millrace/image/execute/plane_buffer.h"
#include "millrace/pool/worker_pool.h"

#include <memory>
#include <vector>

namespace millrace::image {

// Nanoseconds for `times` copies of as many pixels as both planes have, a band a worker.
[[nodiscard]] Result<double> copy_ns(pool::PoolTeam team, const PixelView& from, const PixelView& to,
                                     int times);

// The kernels of a grouping, each on one tile that stays in the first-level cache, in the middle of its
// frame.
class TileArithmetic {
 public:
  // The kernels must be in the library.
  [[nodiscard]] static Result<TileArithmetic> create(const PlaneLayout& layout, Fusion fusion,
                                                     KernelLibrary& library, machine::Isa isa, int workers);

  // All workers compute their own tile of each group over and over, for about as many pixels together as
  // `frames` frames have. Returns the nanoseconds of those frames: the time of a tile's pixel times the
  // pixels of a frame, summed over the groups.
  [[nodiscard]] Result<double> run_ns(pool::PoolTeam team, double frames);

 private:
  struct Tile {
    Scratch memory;
    std::vector<PixelView> inputs;
    PixelView output;
  };
  struct Work {
    Rect tile;
    std::int64_t pixels = 0;  // of a frame
    Interior interior;
    std::vector<Tile> of_worker;
  };

  std::unique_ptr<GroupLayout> layout_;
  std::vector<Work> work_;  // of each group
};

}  // namespace millrace::image
