// ChildProcess: a child process identified by a pidfd instead of its process ID.
//
//     const pid_t number = fork();
//     if (number == 0) work_and_exit();
//     ChildProcess child = ChildProcess::of(number);
//     ...
//     child.kill(SIGKILL);
//     child.wait();
#pragma once

#include "millrace/base/descriptor/descriptor.h"

#include <optional>

#include <sys/types.h>

namespace millrace {

// A process ID can be reused once the child has been waited for. That can happen behind our back: another
// thread waits for any child, or the kernel reaps children because SIGCHLD is ignored. A signal or wait
// through this class reaches either this child or no process at all.
//
// Without pidfd support in the kernel, the process ID is used as long as it belongs to a child of this
// process.
class ChildProcess {
 public:
  ChildProcess() = default;
  // number: of a child that has not been waited for yet; negative for no child.
  [[nodiscard]] static ChildProcess of(pid_t number);
  // descriptor: the pidfd that the kernel returned at creation, for example with CLONE_PIDFD.
  [[nodiscard]] static ChildProcess of(pid_t number, Descriptor descriptor);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  // -1 if there is no child. For messages and read-only queries.
  [[nodiscard]] pid_t number() const { return number_; }
  [[nodiscard]] bool exists() const { return number_ > 0; }

  // Returns false if the child has already been waited for.
  bool kill(int signal) const;
  // Sends the signal with a value, like sigqueue().
  bool kill(int signal, void* value) const;
  // Waits until the child ends and forgets it. Returns its status in waitpid() format, or nothing if the
  // child was already waited for elsewhere.
  std::optional<int> wait();

 private:
  pid_t number_ = -1;
  Descriptor descriptor_;
};

}  // namespace millrace
