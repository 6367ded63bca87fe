// Simulates a job of chunks on a cluster. Machines pull the chunks in the order of the video. Pure.
#pragma once

#include "millrace/model/cluster/cluster_case.h"

#include <cstdint>
#include <vector>

namespace millrace::model {

struct ClusterOutcome {
  int machines = 0;
  double seconds = 0;     // from the beginning to the joined output
  double capacity = 0;    // work per second of all machines together
  double efficiency = 0;  // work of all chunks, each done once / (capacity x seconds)
  // The remaining machine time, as shares that add up to 1 with the efficiency.
  double starting = 0;  // machines starting up or away
  double transferring = 0;
  double learning = 0;
  double repeated = 0;      // work lost to preemptions, and copies that finished second
  double idle = 0;          // at the end, and during planning and joining
  std::int64_t taken = 0;   // preemptions in the middle of a chunk
  std::int64_t copies = 0;  // speculative copies begun
};

// Simulates these machines and ignores `cluster.sizes`. Requires check().
//
// A free machine takes the next chunk. Inputs and outputs pass through the shared store one after another,
// and through the machine's own link at its speed, before and after it computes. Chunk times are drawn from a
// gamma distribution, independent of the machines: the same seed gives the same job.
[[nodiscard]] ClusterOutcome
simulate_cluster(const ClusterJob& job, const std::vector<ClusterMachines>& machines, std::uint64_t seed);

}  // namespace millrace::model
