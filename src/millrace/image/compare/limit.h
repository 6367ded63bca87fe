// Measures lower bounds on the time of every structure on one plane: moving its pixels, and computing them.
#pragma once

#include "millrace/image/execute/group_layout.h"
#include "millrace/image/execute/plane_buffer.h"
#include "millrace/pool/worker_pool.h"

#include <memory>
#include <vector>

namespace millrace::image {

// Nanoseconds for `times` copies of as many pixels as both planes have, one band per worker.
[[nodiscard]] Result<double> copy_ns(pool::PoolTeam team, const PixelView& from, const PixelView& to,
                                     int times);

// Runs the kernels of a grouping, each on one tile in the middle of its frame that stays in the L1 cache.
class TileArithmetic {
 public:
  // The kernels must be available in the library.
  [[nodiscard]] static Result<TileArithmetic> create(const PlaneLayout& layout, Fusion fusion,
                                                     KernelLibrary& library, machine::Isa isa, int workers);

  // All workers repeatedly compute their own tile of each group, together about as many pixels as `frames`
  // frames have. Returns the nanoseconds for those frames: the time per pixel of a tile times the pixels of a
  // frame, summed over the groups.
  [[nodiscard]] Result<double> run_ns(pool::PoolTeam team, double frames);

 private:
  struct Tile {
    Scratch memory;
    std::vector<PixelView> inputs;
    PixelView output;
  };
  struct Work {
    Rect tile;
    std::int64_t pixels = 0;  // per frame
    Interior interior;
    std::vector<Tile> of_worker;
  };

  std::unique_ptr<GroupLayout> layout_;
  std::vector<Work> work_;  // by group
};

}  // namespace millrace::image
