#pragma once

#include "millrace/machine/thread/thread_affinity.h"

#include <gtest/gtest.h>

namespace millrace::pool {

// The calling thread's affinity, which must be readable.
inline machine::CpuSet own_cpus() {
  auto cpus = machine::current_thread_affinity();
  EXPECT_TRUE(cpus);
  return cpus.value_or(machine::CpuSet{});
}

}  // namespace millrace::pool
