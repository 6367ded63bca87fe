// Follower: a thread that sees a program's births by ptrace, or only its end, and launches it.
#pragma once

#include "millrace/base/result.h"
#include "millrace/placement/apply/thread_register.h"
#include "millrace/placement/birth/launch.h"
#include "millrace/placement/birth/tracer.h"

#include <cstdint>
#include <future>
#include <optional>
#include <thread>

namespace millrace::placement {

// How the program came to run.
struct Launched {
  bool traced = false;
  std::string not_traced;  // why, where it was asked for and could not be
  std::int64_t time_ns = 0;
  int exec_error = 0;  // error number for which it could not be executed
};

// Used by one thread.
class Follower {
 public:
  // `threads` outlives the follower.
  explicit Follower(ThreadRegister& threads);
  // Waits for its thread: call stop() before, unless the program has ended.
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // Lets the program run and returns once it does. Failure when it cannot be followed at all.
  Result<Launched> launch(WaitingProgram& program, bool trace);
  // Joins a running program by ptrace. Failure when that is not permitted.
  Status attach(pid_t process);

  // Readable once the program has ended.
  [[nodiscard]] int end_descriptor() const { return ended_.get(); }
  // After that. Nothing when the end could not be waited for.
  [[nodiscard]] std::optional<ProgramEnd> end() { return end_.get(); }
  // Ends following; the program goes on.
  void stop();
  // The last signal that reached the program; number 0 where there was none or it is not traced.
  [[nodiscard]] SeenSignal last_signal() const { return tracer_.last_signal(); }

 private:
  void follow(pid_t process, bool traced);

  ThreadRegister* threads_;
  Tracer tracer_;
  Descriptor ended_;
  std::promise<std::optional<ProgramEnd>> end_promise_;
  std::future<std::optional<ProgramEnd>> end_;
  bool traced_ = false;
  std::thread thread_;
};

}  // namespace millrace::placement
