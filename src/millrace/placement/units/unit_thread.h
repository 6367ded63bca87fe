// A thread as policies by execution units see it.
#pragma once

#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/machine/processor/demand.h"

#include <cstdint>
#include <vector>

namespace millrace::placement {

struct UnitThread {
  std::int64_t id = 0;             // by which the caller knows it; of no other thread, now or later
  machine::Demand demand;          // 1 in sum where anything is known
  std::int64_t samples = 0;        // on which the demand rests; 0: nothing is known of it
  double busy = 1;                 // share of the last period that it computed, or was ready to
  int cpu = -1;                    // where it ran last; -1: not known
  machine::CpuSet allowed;         // what it was given, or gave itself, before any policy; empty: everything
  std::vector<double> pages = {};  // where its memory lies, by node of the machine; empty: not known
  int data = -1;                   // threads of one number >= 0 work on the same data
  double overlap = 0;              // the share of its memory that this is
};

}  // namespace millrace::placement
