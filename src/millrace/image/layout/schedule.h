// A schedule: how the stages of a pipeline are executed. Every schedule gives the same pixels.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/filter/geometry.h"
#include "millrace/machine/processor/isa.h"
#include "millrace/machine/topology/affinity_arrangement.h"

#include <string>
#include <string_view>
#include <vector>

namespace millrace::image {

// The execution structures; the first four are those of "Processing data intensive multimedia workloads" (the
// execution-structures paper), where they are called sequential, BD, BD-STORE and BD-CACHED.
enum class Structure {
  // Stage after stage over the whole frame, a barrier between stages, full-frame intermediates.
  // Pro: plain, nothing is computed twice. Con: intermediates travel through memory; computes what nobody
  // needs.
  sequential,
  // Only the last stage is divided among the threads; each output pixel recomputes what it needs.
  // Pro: no intermediate memory. Con: work grows with the product of all neighbourhoods.
  backward,
  // The same, and each intermediate is also written to its frame buffer, never read back: separates the cost
  // of storing from the gain of locality. What lies before a geometric stage is computed once more for that.
  backward_store,
  // Demand-driven with a buffer for each stage, computed granule by granule at most once.
  // Pro: computes just what is needed. Con: looking up what is there; granules spread over the frame.
  backward_cached,
  // Output tiles; each worker computes the regions that a tile needs into private scratch.
  // Pro: intermediates stay in the cache; what several planes share is computed once. Con: neighbouring tiles
  // recompute their common border.
  tiled,
  // Each worker walks down its band and keeps the last rows of every intermediate.
  // Pro: nothing recomputed inside a band. Con: geometric stages need many rows at once.
  sliding,
};

// Which stages become one kernel. Fusing is a matter of compilation: until the kernels are there, the stages
// run one by one.
enum class Fusion {
  none,       // every stage on its own: ahead-of-time kernels only
  pointwise,  // a stage joins its consumer where that computes no pixel of it twice
  stencil,    // also through neighbourhoods of 3x3: recomputes a few pixels instead of storing them
  all,        // one kernel for the whole pipeline
};

struct Schedule {
  Structure structure = Structure::tiled;
  Fusion fusion = Fusion::pointwise;
  // Size of tiles, of the largest of planes that are computed together; of granules for backward_cached; rows
  // of a step and width of a strip for sliding. 0: all of it.
  Size tile{128, 32};
  int threads = 1;
  int frames_in_flight = 1;  // whole frames side by side, threads shared out among them; at most `threads`
  machine::AffinityArrangement affinity = machine::AffinityArrangement::free;
  machine::Isa isa = machine::Isa::baseline;
  bool fresh_threads = false;  // the classical baseline: threads made anew for every stage

  bool operator==(const Schedule&) const = default;
};

[[nodiscard]] std::string_view name_of(Structure structure);
[[nodiscard]] std::string_view name_of(Fusion fusion);
[[nodiscard]] Result<Structure> parse_structure(std::string_view name);
[[nodiscard]] Result<Fusion> parse_fusion(std::string_view name);
[[nodiscard]] std::vector<Structure> all_structures();
[[nodiscard]] std::vector<Fusion> all_fusions();

// "128x32"; "0" for a side means all of it.
[[nodiscard]] Result<Size> parse_tile(std::string_view text);

// "tiled 128x32, fusion pointwise, 2 threads, avx2"
[[nodiscard]] std::string to_string(const Schedule& schedule);

}  // namespace millrace::image
