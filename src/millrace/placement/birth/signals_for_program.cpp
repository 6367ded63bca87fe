#include "millrace/placement/birth/signals_for_program.h"

#include "millrace/base/clock.h"

#include <unistd.h>

namespace millrace::placement {
namespace {

// A signal that was sent to the whole process group reaches the program by itself within this time.
constexpr std::int64_t group_signal_ns = 20'000'000;

bool reached_the_program(const signalfd_siginfo& signal, const Follower& tracer) {
  constexpr useconds_t pause_us = 1000;
  const std::int64_t until = now_ns() + group_signal_ns;
  while (now_ns() < until) {
    const SeenSignal seen = tracer.last_signal();
    if (seen.number == static_cast<int>(signal.ssi_signo) &&
        seen.sender == static_cast<pid_t>(signal.ssi_pid) && now_ns() - seen.time_ns < 2 * group_signal_ns)
      return true;
    usleep(pause_us);
  }
  return false;
}

}  // namespace

bool is_for_program(const signalfd_siginfo& signal, const ThreadRegister& threads, const Follower* tracer,
                    GroupWitness* witness) {
  const auto sender = static_cast<pid_t>(signal.ssi_pid);
  // The kernel's own are the terminal's.
  if (signal.ssi_code > 0 || threads.knows(sender)) return false;
  if (tracer != nullptr) return !reached_the_program(signal, *tracer);
  return witness == nullptr || !witness->saw(static_cast<int>(signal.ssi_signo), sender);
}

}  // namespace millrace::placement
