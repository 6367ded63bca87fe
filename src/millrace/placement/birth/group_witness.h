// GroupWitness: tells signals to this process alone from signals to its whole process group.
#pragma once

#include "millrace/base/descriptor/descriptor.h"
#include "millrace/base/error/result.h"
#include "millrace/base/process/child_process.h"

#include <cstdint>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// A helper process in this one's group that only reports which signals reach it. It gets a signal only if the
// whole group does, and then a program in the same group has got the signal too.
//
// Not thread-safe.
class GroupWitness {
 public:
  // Call this after blocking the signals to be forwarded. Any thread may call it, even if others run.
  [[nodiscard]] static Result<GroupWitness> start();
  GroupWitness(GroupWitness&&) noexcept = default;
  GroupWitness& operator=(GroupWitness&&) = delete;
  // Ends the witness. It also ends when this process ends for any reason.
  ~GroupWitness();

  [[nodiscard]] pid_t process() const { return process_.number(); }
  // True if a signal from `sender` that this process received also reached the witness. Waits until the
  // witness has reported everything it received. taken_ns: the time just before the signal was taken, on the
  // clock of now_ns(). Signals of the same number that the witness had received by then were merged into this
  // one, unless they are real-time signals. Take all signals that wait before you ask: only the first of them
  // takes time.
  [[nodiscard]] bool saw(int signal, pid_t sender, std::int64_t taken_ns);

 private:
  // Small enough for an atomic write to a pipe.
  struct Seen {
    int signal = 0;
    pid_t sender = 0;
    std::int64_t time_ns = 0;
  };
  GroupWitness() = default;
  [[noreturn]] static void watch(int telling, pid_t parent);
  [[nodiscard]] bool is_behind(int signal) const;
  void read_seen();

  Descriptor told_;
  ChildProcess process_;
  std::vector<Seen> seen_;
};

}  // namespace millrace::placement
