// Waits in a test for something that another thread or process does.
#pragma once

#include <chrono>
#include <thread>

namespace millrace {

// Returns whether the condition became true within a minute. That is far longer than it needs, and it ends a
// test that would hang.
template <class Condition> [[nodiscard]] bool eventually(const Condition& condition) {
  constexpr std::chrono::minutes patience{1};
  constexpr std::chrono::milliseconds pause{1};
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
}

}  // namespace millrace
