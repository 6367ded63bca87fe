// GroupWitness: tells signals to this process alone from those to its whole process group.
#pragma once

#include "millrace/base/child_process.h"
#include "millrace/base/descriptor.h"
#include "millrace/base/result.h"

#include <cstdint>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// A process in this one's group that does nothing but tell which signals reach it: nobody sends it any but by
// sending them to the group. A program in the same group has got those by itself.
//
// Used by one thread at a time.
class GroupWitness {
 public:
  // Signals that are passed on must be blocked here already. By any thread, also beside others.
  [[nodiscard]] static Result<GroupWitness> start();
  GroupWitness(GroupWitness&&) noexcept = default;
  GroupWitness& operator=(GroupWitness&&) = delete;
  // It ends, as it does with this process for any reason.
  ~GroupWitness();

  [[nodiscard]] pid_t process() const { return process_.number(); }
  // Whether a signal from `sender` that this process has taken reached the witness, too. Waits until the
  // witness has told of all that it got. taken_ns: on the clock of now_ns(), just before it was taken; others
  // of its number that the witness had got by then reached this process as one with it.
  [[nodiscard]] bool saw(int signal, pid_t sender, std::int64_t taken_ns);

 private:
  // Written into a pipe at once and as a whole.
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
