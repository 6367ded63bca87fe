// Decides which signals to this process are passed on to the program.
#pragma once

#include "millrace/placement/apply/thread_register.h"
#include "millrace/placement/birth/group_witness.h"

#include <csignal>

#include <sys/signalfd.h>

namespace millrace::placement {

// False for signals that the program has already received, such as those from the terminal or to the process
// group. Also false for signals from the program itself, which are meant for its group or for the shell that
// it takes this process for. taken_ns: when the signal was taken, see GroupWitness. Without a witness (null),
// signals to the group arrive twice. May block for some milliseconds.
[[nodiscard]] inline bool is_for_program(const signalfd_siginfo& signal, std::int64_t taken_ns,
                                         const ThreadRegister& threads, GroupWitness* witness) {
  const auto sender = static_cast<pid_t>(signal.ssi_pid);
  const auto number = static_cast<int>(signal.ssi_signo);
  // An alarm that was set before this process began. The program would have inherited it.
  const bool alarm = number == SIGALRM || number == SIGVTALRM || number == SIGPROF;
  // All other signals from the kernel are the terminal's.
  if (signal.ssi_code > 0) return alarm;
  if (threads.knows(sender)) return false;
  return witness == nullptr || !witness->saw(number, sender, taken_ns);
}

}  // namespace millrace::placement
