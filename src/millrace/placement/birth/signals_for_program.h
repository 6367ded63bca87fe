// Which signals to this process are to be passed on to the program.
#pragma once

#include "millrace/placement/apply/thread_register.h"
#include "millrace/placement/birth/follower.h"
#include "millrace/placement/birth/group_witness.h"

#include <sys/signalfd.h>

namespace millrace::placement {

// Not those that the program has got by itself, as the terminal's, and whatever is sent to the process group,
// nor the program's own, which mean its group, or the shell that it takes this process for. Of a signal to
// the group, whoever sees the program's signals knows: its tracer, or else the witness; each may be null. May
// wait for some milliseconds.
[[nodiscard]] bool is_for_program(const signalfd_siginfo& signal, const ThreadRegister& threads,
                                  const Follower* tracer, GroupWitness* witness);

}  // namespace millrace::placement
