// Measures what two PUs share by running small kernels on both at the same time.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/machine/probe/pair_judgement.h"
#include "millrace/machine/topology/topology.h"

#include <array>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

namespace millrace::machine {

struct UnmapMemory {
  std::size_t bytes = 0;
  void operator()(std::byte* memory) const;
};

// Memory for the kernels, reused for all pairs: half of a core's L1 and L2, a part of the last-level cache,
// and for each PU more than that cache holds (64 to 256 MiB). For one thread at a time.
class PairProbe {
 public:
  // Uses at most a quarter of `memory_bytes`, the usable memory. If that does not exceed the caches, the
  // main-memory kernel is omitted. Fails if no memory can be allocated.
  [[nodiscard]] static Result<PairProbe> make(const Topology& topology, std::uint64_t memory_bytes);

  // Creates two threads, pins them to the PUs, and ends them. The calling thread's affinity does not change.
  // Takes at most 0.1 s, even if the PUs are busy; then it measures fewer windows. Fails if a PU or a thread
  // is unavailable. Returns an interrupted error after a stop.
  [[nodiscard]] Result<PairMeasurement> measure(int first, int second, const std::stop_token& stop);

 private:
  using Memory = std::unique_ptr<std::byte, UnmapMemory>;

  PairProbe() = default;

  std::array<Memory, 2> memory_;
  PerUnit<std::size_t> bytes_;  // working set of each kernel; 0: omitted, or needs no memory
};

// The pairs to probe. Up to eight PUs: all pairs. More: PUs that reportedly share a core or an FPU group with
// its lowest PU, and the lowest PUs of neighbouring groups. Pure.
[[nodiscard]] std::vector<std::pair<int, int>> pairs_to_probe(const Topology& topology, const CpuSet& cpus);

}  // namespace millrace::machine
