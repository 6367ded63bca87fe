// IgnoredSignals: the signals that a process ignores, which an executed program inherits.
#pragma once

#include <bitset>

namespace millrace::placement {

// Covers all kernel signals, also those that the C library reserves and hides. Creating a thread makes the
// library install a handler for one of those, even if it had been ignored.
class IgnoredSignals {
 public:
  IgnoredSignals() = default;  // none
  // The signals that this process ignores now.
  [[nodiscard]] static IgnoredSignals now();

  // Ignores these signals and no others. Signals with handlers, which an executed program does not inherit,
  // are left alone unless they are in the set. Safe between fork and exec.
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
