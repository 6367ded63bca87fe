// Follower: launches a program and observes its births by ptrace, or only its end, in a thread of its own.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/placement/apply/thread_register.h"
#include "millrace/placement/birth/launch.h"
#include "millrace/placement/birth/tracer.h"

#include <csignal>
#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <thread>

namespace millrace::placement {

// How the program was started.
struct Launched {
  bool traced = false;
  std::string not_traced;  // the reason if tracing was requested and failed
  std::int64_t time_ns = 0;
  int exec_error = 0;  // error number if it could not be executed
};

// Not thread-safe.
class Follower {
 public:
  // `threads` must outlive the follower.
  explicit Follower(ThreadRegister& threads);
  // Calls stop(). Waits for the end of a program that is not traced.
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // Starts the program and returns once it runs. Fails if it cannot be followed at all; it has not begun
  // then.
  Result<Launched> launch(WaitingProgram& program, bool trace);
  // Attaches to a running program by ptrace. Fails if that is not permitted.
  Status attach(pid_t process);

  // Readable once the program has ended.
  [[nodiscard]] int end_descriptor() const { return ended_.get(); }
  // Call this after end_descriptor() is readable. Returns nothing if the end could not be waited for.
  [[nodiscard]] std::optional<ProgramEnd> end() { return end_.get(); }
  // See Tracer. No effect on programs that are not traced.
  void hand_over() { tracer_.hand_over(); }
  [[nodiscard]] bool handed_over() const { return tracer_.handed_over(); }
  [[nodiscard]] Tracer::LetGo let_go() const { return tracer_.let_go(); }
  void on_exec(std::function<bool(pid_t)> untraceable) { tracer_.on_exec(std::move(untraceable)); }
  void on_hand_over(std::function<void()> prepare) { tracer_.on_hand_over(std::move(prepare)); }

  // Stops following once births under way have been reported. The program and its descendants go on.
  void stop();

 private:
  Status start(std::function<void()> work);
  void follow(pid_t process, bool traced);
  void tell_end(std::optional<ProgramEnd> end);

  ThreadRegister* threads_;
  Tracer tracer_;
  sigset_t signals_before_{};
  Descriptor ended_;
  std::promise<std::optional<ProgramEnd>> end_promise_;
  std::future<std::optional<ProgramEnd>> end_;
  bool traced_ = false;
  std::thread thread_;
};

}  // namespace millrace::placement
