// Waiting in a test for what another thread or process does.
#pragma once

#include <chrono>
#include <thread>

namespace millrace {

// Whether the condition came true while the test still had patience: a minute, which is far more than it
// takes and ends a test that would hang.
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
