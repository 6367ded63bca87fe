// Whether this process may use hardware event counters.
#pragma once

#include <string>

namespace millrace::machine {

struct CounterAvailability {
  bool available = false;
  std::string explanation;  // one sentence: what was tried, or the obstacle and how to remove it
};

// Tries to count the calling thread's retired user-mode instructions. Takes some microseconds.
[[nodiscard]] CounterAvailability probe_hardware_counters();

}  // namespace millrace::machine
