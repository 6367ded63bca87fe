// Machines and threads for tests of contention.
#pragma once

#include "millrace/model/contention/contention.h"
#include "millrace/model/pipeline/random.h"

#include <fmt/format.h>

namespace millrace::model {

// Groups of `each` neighbouring PUs.
inline SharingLevel level_of(const char* name, int pus, int each, const ContentionMatrix& contention) {
  return {.name = name, .groups = groups_of_neighbours(pus, each), .contention = contention};
}

// Like kinds slow each other as measured on SMT siblings of a current processor; most unlike kinds do not.
inline ContentionMatrix smt_siblings() {
  ContentionMatrix matrix;
  static_cast<void>(matrix.set(SharedUnit::integer, SharedUnit::integer, 1.4));
  static_cast<void>(matrix.set(SharedUnit::fp, SharedUnit::fp, 1.9));
  static_cast<void>(matrix.set(SharedUnit::simd, SharedUnit::simd, 1.35));
  static_cast<void>(matrix.set(SharedUnit::fp, SharedUnit::simd, 1.1));
  static_cast<void>(matrix.set(SharedUnit::l1, SharedUnit::l1, 1.5));
  static_cast<void>(matrix.set(SharedUnit::l1, SharedUnit::dram, 2.3));
  static_cast<void>(matrix.set(SharedUnit::l2, SharedUnit::l2, 2.5));
  static_cast<void>(matrix.set(SharedUnit::l2, SharedUnit::dram, 3.2));
  return matrix;
}

inline ContentionMatrix last_level_cache() {
  ContentionMatrix matrix;
  static_cast<void>(matrix.set(SharedUnit::llc, SharedUnit::llc, 1.5));
  static_cast<void>(matrix.set(SharedUnit::llc, SharedUnit::dram, 1.8));
  static_cast<void>(matrix.set(SharedUnit::dram, SharedUnit::dram, 1.78));
  return matrix;
}

// A thread that mostly uses one unit and others a little.
inline ContendingThread random_thread(Random& random) {
  ContendingThread thread;
  double sum = 0;
  for (const SharedUnit unit : all_shared_units)
    sum += thread.demand[unit] = random.uniform() * 0.1;
  const double most = 1 - sum;
  thread.demand[all_shared_units[random.below(shared_units)]] += most;
  thread.busy = random.uniform() < 0.3 ? 0.2 + 0.8 * random.uniform() : 1;
  return thread;
}

inline ContendingThread thread_of(SharedUnit unit) {
  ContendingThread thread{.name = std::string(name_of(unit))};
  thread.demand[unit] = 1;
  return thread;
}

}  // namespace millrace::model
