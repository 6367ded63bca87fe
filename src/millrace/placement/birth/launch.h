// Launch: prepares a program in a process that waits until the follower is ready.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"
#include "millrace/base/process/child_process.h"
#include "millrace/placement/birth/ignored_signals.h"
#include "millrace/placement/birth/inherited_state.h"

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// What the program starts with.
struct LaunchSettings {
  std::vector<std::string> command;      // not empty; the first word is looked up as a shell does
  std::vector<std::string> environment;  // "NAME=value", in addition to this process's variables
  std::vector<std::pair<int, int>>
      descriptors;                 // (number here, number there), in addition to all inheritable ones
  sigset_t blocked_signals{};      // as this process inherited them
  IgnoredSignals ignored_signals;  // as this process inherited them
};

// A process that has not begun its program yet. If this object is destroyed before begin(), the process ends
// without running it.
class WaitingProgram {
 public:
  [[nodiscard]] static Result<WaitingProgram> make(const LaunchSettings& settings);
  WaitingProgram(WaitingProgram&&) noexcept = default;
  WaitingProgram& operator=(WaitingProgram&&) = delete;
  ~WaitingProgram();

  [[nodiscard]] pid_t process() const { return process_.number(); }
  // For sending it signals while this object exists; the follower waits for its end.
  [[nodiscard]] const ChildProcess& child() const { return process_; }
  // Lets the program run. Returns 0, or the error number if it could not be executed. The process then ends
  // with the shell's exit code (127 not found, 126 otherwise) and must be waited for as usual.
  [[nodiscard]] int begin();

 private:
  WaitingProgram(ChildProcess process, InheritedState state, Descriptor go, Descriptor error)
      : process_(std::move(process)), state_(state), go_(std::move(go)), error_(std::move(error)) {}

  ChildProcess process_;
  InheritedState state_;
  Descriptor go_;  // closed once it has begun
  Descriptor error_;
};

// Replaces this process by the program. Returns only if that fails, with the error number.
[[nodiscard]] int become(const LaunchSettings& settings);

}  // namespace millrace::placement
