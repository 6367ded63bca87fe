// Which signals to this process are to be passed on to the program.
#pragma once

#include "millrace/placement/apply/thread_register.h"
#include "millrace/placement/birth/group_witness.h"

#include <csignal>

#include <sys/signalfd.h>

namespace millrace::placement {

// Not those that the program has got by itself, as the terminal's, and whatever is sent to the process group,
// nor the program's own, which mean its group, or the shell that it takes this process for. taken_ns: when it
// was taken, see GroupWitness. Without a witness (null), signals to the group arrive twice. May wait for some
// milliseconds.
[[nodiscard]] inline bool is_for_program(const signalfd_siginfo& signal, std::int64_t taken_ns,
                                         const ThreadRegister& threads, GroupWitness* witness) {
  const auto sender = static_cast<pid_t>(signal.ssi_pid);
  const auto number = static_cast<int>(signal.ssi_signo);
  // Of an alarm that was set before this process began, which the program would have inherited.
  const bool alarm = number == SIGALRM || number == SIGVTALRM || number == SIGPROF;
  // The kernel's other ones are the terminal's.
  if (signal.ssi_code > 0) return alarm;
  if (threads.knows(sender)) return false;
  return witness == nullptr || !witness->saw(number, sender, taken_ns);
}

}  // namespace millrace::placement
