// A job of chunks, and the machines that do it, as a simulation takes them. Pure.
#pragma once

#include "millrace/base/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::model {

// Machines of one kind. Times in seconds.
struct ClusterMachines {
  std::string name;
  int count = 1;
  double speed = 1;     // work a second; a chunk of 10 seconds of work takes 10 / speed
  double start_up = 0;  // before it can begin its first chunk, and again after it was taken away
  double link = 0;      // bytes a second to and from where inputs and parts are; 0: without limit
  double taken_every =
      0;                 // the mean time after which it is taken away in the middle of what it does; 0: never
  double taken_for = 0;  // the time until it is back
};

struct ClusterJob {
  int chunks = 1;
  double work = 1;       // seconds of a chunk at speed 1
  double variation = 0;  // standard deviation of that, as a share of it
  double bytes = 0;      // read and written for a chunk
  double storage = 0;    // bytes a second of the store that all machines share; 0: without limit
  double learning = 0;   // seconds at speed 1 that a machine loses with its first chunk: search and compiling
  bool shared_plans =
      false;                // what the first machine of a kind has learnt, those that begin later start with
  double before = 0;        // seconds alone before the first chunk: making the plan
  double after = 0;         // seconds alone behind the last: joining
  double overhead = 0;      // seconds a chunk that the engine takes on its machine
  bool speculation = true;  // machines without work begin copies of chunks that are expected to be done later
};

struct ClusterCase {
  ClusterJob job;
  std::vector<ClusterMachines> machines;
  // So many machines in all, kinds in the same proportions; empty: as many as there are.
  std::vector<int> sizes;
};

inline constexpr int most_machines = 16384;
inline constexpr int most_chunks = 1'000'000;

// Usage error that names what cannot be.
[[nodiscard]] Status check(const ClusterCase& cluster);

// So many machines of the same kinds: shares rounded, the largest remainders up; at least one machine.
[[nodiscard]] std::vector<ClusterMachines> scaled(const std::vector<ClusterMachines>& machines, int count);

}  // namespace millrace::model
