// Whether this process may count hardware events.
#pragma once

#include <string>

namespace millrace::machine {

struct CounterAvailability {
  bool available = false;
  std::string explanation;  // one sentence: what was tried, or what stands in the way and how to lift it
};

// Tries to count the calling thread's retired instructions in user mode. Some microseconds.
[[nodiscard]] CounterAvailability probe_hardware_counters();

}  // namespace millrace::machine
