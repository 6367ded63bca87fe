// A schedule: how the stages of a pipeline are executed. Every schedule gives the same pixels.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/image/filter/geometry.h"
#include "millrace/machine/processor/isa.h"
#include "millrace/machine/topology/affinity_arrangement.h"

#include <string>
#include <string_view>
#include <vector>

namespace millrace::image {

// The execution structures. The first four are from "Processing data intensive multimedia workloads" (the
// execution-structures paper), where they are called sequential, BD, BD-STORE and BD-CACHED.
enum class Structure {
  // Runs stage after stage over the whole frame, with a barrier and a full-frame intermediate between stages.
  // Pro: simple, computes nothing twice. Con: intermediates go through memory; computes unneeded pixels.
  sequential,
  // Divides only the last stage among the threads; each output pixel recomputes its inputs. Pro: no memory
  // for intermediates. Con: work grows with the product of all neighbourhoods.
  backward,
  // The same, but also writes each intermediate to a frame buffer that is never read. Separates the cost of
  // storing from the gain of locality. The input of a geometric stage is computed a second time for this.
  backward_store,
  // Demand-driven, with a buffer for each stage that is computed by granules, each at most once. Pro:
  // computes only needed granules. Con: the cost of look-ups, and granules are scattered over the frame.
  backward_cached,
  // Divides the output into tiles. Each worker computes the regions that a tile needs into private scratch
  // memory. Pro: intermediates stay in the cache, and regions shared by several planes are computed once.
  // Con: neighbouring tiles both compute their common border.
  tiled,
  // Each worker walks down a band of the output and keeps the last rows of every intermediate. Pro: nothing
  // is recomputed inside a band. Con: geometric stages need many rows at once.
  sliding,
};

// Which stages become one kernel. Fused kernels have to be compiled; until then the stages run one by one.
enum class Fusion {
  none,       // every stage by itself: ahead-of-time kernels only
  pointwise,  // a stage joins its consumer if none of its pixels is then computed twice
  stencil,    // also through 3x3 neighbourhoods: recomputes a few pixels instead of storing them
  all,        // one kernel for the whole pipeline
};

struct Schedule {
  Structure structure = Structure::tiled;
  Fusion fusion = Fusion::pointwise;
  // Size of tiles, for the largest of the planes that are computed together. For backward_cached: size of
  // granules. For sliding: width of a strip and rows of a step. 0: the whole plane.
  Size tile{128, 32};
  int threads = 1;
  int frames_in_flight = 1;  // whole frames in parallel, sharing the threads; at most `threads`
  machine::AffinityArrangement affinity = machine::AffinityArrangement::free;
  machine::Isa isa = machine::Isa::baseline;
  bool fresh_threads = false;  // the classical baseline: new threads for every stage

  bool operator==(const Schedule&) const = default;
};

[[nodiscard]] std::string_view name_of(Structure structure);
[[nodiscard]] std::string_view name_of(Fusion fusion);
[[nodiscard]] Result<Structure> parse_structure(std::string_view name);
[[nodiscard]] Result<Fusion> parse_fusion(std::string_view name);
[[nodiscard]] std::vector<Structure> all_structures();
[[nodiscard]] std::vector<Fusion> all_fusions();

// "128x32"; 0 for a side means the whole plane.
[[nodiscard]] Result<Size> parse_tile(std::string_view text);

// "tiled 128x32, fusion pointwise, 2 threads, avx2"
[[nodiscard]] std::string to_string(const Schedule& schedule);

}  // namespace millrace::image
