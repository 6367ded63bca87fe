// Guardian: a small process that restores the threads of a program when millrace was killed before it could.
#pragma once

#include "millrace/base/child_process.h"
#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"
#include "millrace/placement/apply/journal.h"

#include <string_view>

#include <sys/types.h>

namespace millrace::placement {

// What it calls itself.
inline constexpr std::string_view guardian_name = "millrace-guard";

// While it lives, the end of this process for any reason, SIGKILL included, makes the guardian restore by the
// journal and remove it. When the object is destroyed, the guardian ends and is waited for.
class Guardian {
 public:
  // Make it before any thread: the guardian is a fork of this process, in a session of its own so that
  // signals from the terminal or to the process group do not reach it. It holds no descriptor of this process
  // but one end of a pipe and the journal's folder. Of a journal that refuses, nothing is guarded.
  [[nodiscard]] static Result<Guardian> start(const Journal& journal);
  // The same for all journals that this process has begun in the folder, or will, also where it was removed
  // and made anew meanwhile.
  [[nodiscard]] static Result<Guardian> start(const StateFolder& folder);
  Guardian(Guardian&&) noexcept = default;
  Guardian& operator=(Guardian&&) = delete;
  ~Guardian();

  // -1 where there is none.
  [[nodiscard]] pid_t process() const { return process_.number(); }

 private:
  Guardian() = default;
  template <class Restore>
  [[nodiscard]] static Result<Guardian> make(const StateFolder& folder, const Restore& restore);

  // The guardian reads the other end: its end is this process's end.
  Descriptor alive_;
  ChildProcess process_;
};

}  // namespace millrace::placement
