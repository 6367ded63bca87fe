// A job of chunks and the machines that do it, as input of a simulation. Pure.
#pragma once

#include "millrace/base/error/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::model {

// Machines of one kind. Times in seconds.
struct ClusterMachines {
  std::string name;
  int count = 1;
  double speed = 1;        // work per second; a chunk of 10 seconds of work takes 10 / speed
  double start_up = 0;     // before its first chunk, and again after each preemption
  double link = 0;         // bytes per second to and from the storage of inputs and parts; 0: unlimited
  double taken_every = 0;  // mean time between preemptions, which hit it in the middle of its work; 0: never
  double taken_for = 0;    // the time until it is back
};

struct ClusterJob {
  int chunks = 1;
  double work = 1;       // seconds of a chunk at speed 1
  double variation = 0;  // standard deviation of the work, as a share of it
  double bytes = 0;      // read and written per chunk
  double storage = 0;    // bytes per second of the store shared by all machines; 0: unlimited
  double learning =
      0;  // seconds at speed 1 that a machine loses in its first chunk to search and compilation
  bool shared_plans =
      false;            // machines that start later inherit the findings of the first machine of their kind
  double before = 0;    // sequential seconds before the first chunk: making the plan
  double after = 0;     // sequential seconds after the last chunk: joining
  double overhead = 0;  // seconds per chunk that the engine takes on its machine
  bool speculation = true;  // idle machines begin copies of chunks that they are expected to finish earlier
};

struct ClusterCase {
  ClusterJob job;
  std::vector<ClusterMachines> machines;
  // Total numbers of machines to simulate, with kinds in the same proportions. Empty: the actual number.
  std::vector<int> sizes;
};

inline constexpr int most_machines = 16384;
inline constexpr int most_chunks = 1'000'000;

// Returns a usage error that names the problem.
[[nodiscard]] Status check(const ClusterCase& cluster);

// Scales to `count` machines of the same kinds: shares are rounded, largest remainders up; at least one
// machine.
[[nodiscard]] std::vector<ClusterMachines> scaled(const std::vector<ClusterMachines>& machines, int count);

}  // namespace millrace::model
