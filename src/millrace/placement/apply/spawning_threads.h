// SpawningThreads: threads that have put back their original mask, so that a program that they start begins
// with it.
#pragma once

#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// Check this before treating a changed mask as the thread's own choice. Thread-safe.
class SpawningThreads {
 public:
  SpawningThreads() = default;
  SpawningThreads(const SpawningThreads&) = delete;
  SpawningThreads& operator=(const SpawningThreads&) = delete;
  virtual ~SpawningThreads() = default;

  enum class State {
    none,
    starting,  // about to start a program; keeps what it has until then
    done       // may be given its mask again
  };
  // A thread is registered before it puts anything back. So if it was seen with its original mask, a state
  // read after that is not `none`.
  [[nodiscard]] virtual State state_of(pid_t thread) const = 0;
  // Makes the thread wait before it starts its next program, until let_go() or take_out(). Returns false if
  // it has already begun.
  [[nodiscard]] virtual bool hold(pid_t thread) = 0;
  virtual void let_go(pid_t thread) = 0;
  // Call this for a thread that is done and has its mask again.
  virtual void take_out(pid_t thread) = 0;
  // The thread has ended, whatever it was about to do.
  virtual void forget(pid_t thread) = 0;
  [[nodiscard]] virtual std::vector<pid_t> all() const = 0;
};

}  // namespace millrace::placement
