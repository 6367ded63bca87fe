// IgnoredSignals: which signals a process ignores, as the program that it executes inherits it.
#pragma once

#include <bitset>

namespace millrace::placement {

// All signals of the kernel, also those that the C library keeps for itself and neither shows nor lets
// anybody change: creating a thread makes it handle one that may have been ignored.
class IgnoredSignals {
 public:
  IgnoredSignals() = default;  // none
  // Those of this process at this moment.
  [[nodiscard]] static IgnoredSignals now();

  // Ignores these and no others; signals with handlers, which a program that is executed does not inherit,
  // are left alone unless they are to be ignored. Safe between fork and exec.
  void restore() const;

  [[nodiscard]] bool contains(int signal) const {
    return signal >= 1 && signal <= count && ignored_[static_cast<std::size_t>(signal)];
  }

  friend bool operator==(const IgnoredSignals&, const IgnoredSignals&) = default;

 private:
  static constexpr int count = 64;
  std::bitset<count + 1> ignored_;
};

}  // namespace millrace::placement
