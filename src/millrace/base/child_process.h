// ChildProcess: a child of this process, meant by a descriptor of it, not by its number.
//
//     const pid_t number = fork();
//     if (number == 0) work_and_exit();
//     ChildProcess child = ChildProcess::of(number);
//     ...
//     child.kill(SIGKILL);
//     child.wait();
#pragma once

#include "millrace/base/descriptor.h"

#include <optional>

#include <sys/types.h>

namespace millrace {

// A number may be another process's once somebody has asked how the child ended: a thread that waits for any
// child, or the kernel where SIGCHLD is ignored. What is sent and asked here reaches the child or nobody.
//
// Where the system has no descriptors of processes (pidfd), the number is used as long as it is that of a
// child of this process.
class ChildProcess {
 public:
  ChildProcess() = default;
  // number: of a child that nobody can have waited for yet; negative: none.
  [[nodiscard]] static ChildProcess of(pid_t number);
  // descriptor: what the kernel gave for it as it was made, as by CLONE_PIDFD.
  [[nodiscard]] static ChildProcess of(pid_t number, Descriptor descriptor);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  // -1 where there is none; for messages, and for what only reads.
  [[nodiscard]] pid_t number() const { return number_; }
  [[nodiscard]] bool exists() const { return number_ > 0; }

  // False where it has been waited for already, by whomever.
  bool kill(int signal) const;
  // With the value that sigqueue() would carry.
  bool kill(int signal, void* value) const;
  // Waits until it ends, and forgets it: its status as waitpid() gives it; nothing where somebody else has
  // waited for it.
  std::optional<int> wait();

 private:
  pid_t number_ = -1;
  Descriptor descriptor_;
};

}  // namespace millrace
