#include "millrace/run/compare/busy_process.h"

#include "millrace/base/error/system_reason.h"
#include "millrace/machine/thread/thread_affinity.h"

#include <cerrno>
#include <csignal>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/wait.h>

namespace millrace::run {

Result<BusyProcess> BusyProcess::start(const machine::CpuSet& cpus) {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return failure("cannot start a process to load a core: {}", system_reason(errno));
  if (pid == 0) {
    // End with the parent, however that ends.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    while (true)
      asm volatile("");  // NOLINT(hicpp-no-assembler): the compiler may assume that an empty loop ends
  }
  BusyProcess busy(pid);
  if (const auto bound = machine::bind_thread(pid, cpus); !bound) return std::unexpected(bound.error());
  return busy;
}

BusyProcess::~BusyProcess() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

}  // namespace millrace::run
