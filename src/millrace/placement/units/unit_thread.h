// A thread as seen by the policies for execution units.
#pragma once

#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/machine/processor/demand.h"

#include <cstdint>
#include <vector>

namespace millrace::placement {

struct UnitThread {
  std::int64_t id = 0;             // the caller's identifier, never reused for another thread
  machine::Demand demand;          // sums to 1 if anything is known
  std::int64_t samples = 0;        // samples behind the demand; 0: nothing is known
  double busy = 1;                 // share of the last period in which it computed or was ready to
  int cpu = -1;                    // the CPU it ran on last; -1: not known
  machine::CpuSet allowed;         // its mask before any policy, given or self-chosen; empty: everything
  std::vector<double> pages = {};  // distribution of its memory over the machine's nodes; empty: not known
  int data = -1;                   // threads with the same number >= 0 work on the same data
  double overlap = 0;              // the share of its memory that this data is
};

}  // namespace millrace::placement
