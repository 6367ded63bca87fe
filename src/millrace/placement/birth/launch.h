// Launch: a program that waits, ready to run, until whoever follows it is ready too.
#pragma once

#include "millrace/base/child_process.h"
#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"
#include "millrace/placement/birth/ignored_signals.h"
#include "millrace/placement/birth/inherited_state.h"

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// What the program finds when it begins.
struct LaunchSettings {
  std::vector<std::string> command;      // not empty; the first word is looked up as a shell does
  std::vector<std::string> environment;  // "NAME=value", in addition to this process's
  std::vector<std::pair<int, int>>
      descriptors;                 // (number here, number there), in addition to all inheritable
  sigset_t blocked_signals{};      // as this process had them before it changed them
  IgnoredSignals ignored_signals;  // likewise
};

// A process that has not begun its program yet. Ended, without having run it, when this object is destroyed
// before begin().
class WaitingProgram {
 public:
  [[nodiscard]] static Result<WaitingProgram> make(const LaunchSettings& settings);
  WaitingProgram(WaitingProgram&&) noexcept = default;
  WaitingProgram& operator=(WaitingProgram&&) = delete;
  ~WaitingProgram();

  [[nodiscard]] pid_t process() const { return process_.number(); }
  // To send it signals, until this object is destroyed; whoever follows it waits for its end.
  [[nodiscard]] const ChildProcess& child() const { return process_; }
  // Lets it run. 0, or the error number for which the program could not be executed; the process then ends
  // with the code that shells give (127 not found, 126 otherwise) and is to be waited for as any other.
  [[nodiscard]] int begin();

 private:
  WaitingProgram(ChildProcess process, InheritedState state, Descriptor go, Descriptor error)
      : process_(std::move(process)), state_(state), go_(std::move(go)), error_(std::move(error)) {}

  ChildProcess process_;
  InheritedState state_;
  Descriptor go_;  // closed once it has begun
  Descriptor error_;
};

// Becomes the program, as if this process had never been anything else. Returns only where it cannot be
// executed, the error number.
[[nodiscard]] int become(const LaunchSettings& settings);

}  // namespace millrace::placement
