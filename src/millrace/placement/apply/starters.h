// Starters: threads that have put back what they had before they were given a mask, so that a program which
// they start begins with that.
#pragma once

#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// Whoever changes threads asks it before it takes a mask that is no more what it gave for somebody's choice.
//
// Any thread may call any function at any time.
class Starters {
 public:
  Starters() = default;
  Starters(const Starters&) = delete;
  Starters& operator=(const Starters&) = delete;
  virtual ~Starters() = default;

  enum class State {
    none,
    starting,  // it is about to start a program, and keeps what it has as long as it does
    done       // it may be given its mask again
  };
  // A thread is entered before it puts anything back: of one that was seen with what it had before, the state
  // read after that is not `none`.
  [[nodiscard]] virtual State state_of(pid_t thread) const = 0;
  // It waits a moment before it starts its next program, until let_go() or take_out(). False where it has
  // begun meanwhile.
  [[nodiscard]] virtual bool hold(pid_t thread) = 0;
  virtual void let_go(pid_t thread) = 0;
  // Of one that is done: it has its mask again.
  virtual void take_out(pid_t thread) = 0;
  // It has ended, whatever it was about to do.
  virtual void forget(pid_t thread) = 0;
  [[nodiscard]] virtual std::vector<pid_t> all() const = 0;
};

}  // namespace millrace::placement
