#include "millrace/placement/birth/ignored_signals.h"

#include <csignal>
#include <cstdint>
#include <unistd.h>

#include <sys/syscall.h>

namespace millrace::placement {
namespace {

// The kernel's structure. Processors without a restorer have the mask earlier. That does not matter here,
// because actions without a handler are zero from there on.
struct KernelAction {
  std::uintptr_t handler = 0;
  unsigned long flags = 0;
  std::uintptr_t restorer = 0;
  std::uint64_t mask = 0;
};

const auto ignore = reinterpret_cast<std::uintptr_t>(SIG_IGN);  // NOLINT(performance-no-int-to-ptr)

long action_of(int signal, const KernelAction* wanted, KernelAction* found) {
  return syscall(SYS_rt_sigaction, signal, wanted, found, sizeof(KernelAction::mask));
}

}  // namespace

IgnoredSignals IgnoredSignals::now() {
  IgnoredSignals signals;
  for (int signal = 1; signal <= count; ++signal) {
    KernelAction found;
    if (action_of(signal, nullptr, &found) == 0 && found.handler == ignore)
      signals.ignored_.set(static_cast<std::size_t>(signal));
  }
  return signals;
}

void IgnoredSignals::restore() const {
  const IgnoredSignals present = now();
  for (int signal = 1; signal <= count; ++signal) {
    const bool wanted = ignored_[static_cast<std::size_t>(signal)];
    if (wanted == present.ignored_[static_cast<std::size_t>(signal)]) continue;
    const KernelAction action{.handler = wanted ? ignore : 0};
    action_of(signal, &action, nullptr);  // SIGKILL and SIGSTOP are never ignored, so this cannot fail
  }
}

}  // namespace millrace::placement
