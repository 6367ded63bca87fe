// Measuring what two PUs share, by running small kernels on both at the same time.
#pragma once

#include "millrace/base/result.h"
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

// Memory for the kernels, kept from one pair to the next: half of the L1 and the L2 of a core, a part of the
// last-level cache, and for each PU more than that cache holds, 64 to 256 MiB. To be used by one thread at a
// time.
class PairProbe {
 public:
  // Takes at most a quarter of `memory_bytes` that can be used; where that is too little to leave the caches,
  // the kernel of main memory is left out. Failure where there is none to be had.
  [[nodiscard]] static Result<PairProbe> make(const Topology& topology, std::uint64_t memory_bytes);

  // Binds two threads of its own to the PUs, and nothing else, and ends them again; within 0.1 s, also where
  // others use the PUs: then with fewer windows. Failure where a PU cannot be had, or no thread; an error of
  // being interrupted where `stop` was asked for.
  [[nodiscard]] Result<PairMeasurement> measure(int first, int second, const std::stop_token& stop);

 private:
  using Memory = std::unique_ptr<std::byte, UnmapMemory>;

  PairProbe() = default;

  std::array<Memory, 2> memory_;
  PerUnit<std::size_t> bytes_;  // what each kernel walks through; 0: it does not run, or needs none
};

// Which pairs to probe: all of up to eight PUs; of more, those that are said to share a core or an FPU group
// with the lowest of it, and the lowest PUs of neighbouring groups. Pure.
[[nodiscard]] std::vector<std::pair<int, int>> pairs_to_probe(const Topology& topology, const CpuSet& cpus);

}  // namespace millrace::machine
