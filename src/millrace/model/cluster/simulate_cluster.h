// Simulates a job of chunks on a cluster: machines pull, the longest chunk first. Pure.
#pragma once

#include "millrace/model/cluster/cluster_case.h"

#include <cstdint>
#include <vector>

namespace millrace::model {

struct ClusterOutcome {
  int machines = 0;
  double seconds = 0;     // from the beginning to the joined output
  double capacity = 0;    // work a second of all machines together
  double efficiency = 0;  // work of all chunks, each done once / (capacity x seconds)
  // Where that time of all machines went, as shares that sum up to 1 with the efficiency.
  double starting = 0;  // machines coming up, or away
  double transferring = 0;
  double learning = 0;
  double repeated = 0;      // work lost with machines taken away, and copies that came second
  double idle = 0;          // at the end, and while there is one plan or one join
  std::int64_t taken = 0;   // machines taken away in the middle of a chunk
  std::int64_t copies = 0;  // speculative ones that were begun
};

// Of these machines; `cluster.sizes` is not looked at. After check().
//
// A machine takes the next chunk when it is free; its input and output pass the shared store one after the
// other, and the machine's own link at its speed, before and after it computes. Times of chunks are drawn
// from a gamma distribution, alike for every machine: the same seed gives the same job.
[[nodiscard]] ClusterOutcome
simulate_cluster(const ClusterJob& job, const std::vector<ClusterMachines>& machines, std::uint64_t seed);

}  // namespace millrace::model
