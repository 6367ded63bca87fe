// Guardian: a small process that restores a program's threads if millrace is killed before it could.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"
#include "millrace/base/process/child_process.h"
#include "millrace/placement/apply/journal.h"

#include <string_view>

#include <sys/types.h>

namespace millrace::placement {

// The guardian's process name.
inline constexpr std::string_view guardian_name = "millrace-guard";

// If this process ends for any reason, SIGKILL included, the guardian restores the threads from the journal
// and removes it. Destroying the object ends the guardian and waits for it.
class Guardian {
 public:
  // Call this before anything is changed. The guardian is a fork of this process; other threads may exist. It
  // runs in its own session by the time this returns, so signals from the terminal or to the process group do
  // not reach it. Its only descriptors are one end of a pipe, the journal's folder and a pidfd of this
  // process. A refusing journal is not guarded. An unnamed journal gets its name once the guardian exists.
  [[nodiscard]] static Result<Guardian> start(Journal& journal);
  // Guards all journals that this process has begun or will begin in the folder, even if the folder is
  // removed and made anew.
  [[nodiscard]] static Result<Guardian> start(const StateFolder& folder);
  // Stands for a guardian where there is nothing to guard.
  [[nodiscard]] static Guardian none() { return {}; }
  Guardian(Guardian&&) noexcept = default;
  Guardian& operator=(Guardian&&) = delete;
  ~Guardian();

  // -1 if there is no guardian.
  [[nodiscard]] pid_t process() const { return process_.number(); }

 private:
  Guardian() = default;
  template <class Restore>
  [[nodiscard]] static Result<Guardian> make(const StateFolder& folder, const Restore& restore);

  // The guardian reads the other end and sees it close when this process ends.
  Descriptor alive_;
  ChildProcess process_;
};

}  // namespace millrace::placement
