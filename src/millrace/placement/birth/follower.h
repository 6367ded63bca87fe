// Follower: a thread that sees a program's births by ptrace, or only its end, and launches it.
#pragma once

#include "millrace/base/result.h"
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
  // As stop(); a program that is not traced is waited for.
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // Lets the program run and returns once it does. Failure when it cannot be followed at all; it has not
  // begun then.
  Result<Launched> launch(WaitingProgram& program, bool trace);
  // Joins a running program by ptrace. Failure when that is not permitted.
  Status attach(pid_t process);

  // Readable once the program has ended.
  [[nodiscard]] int end_descriptor() const { return ended_.get(); }
  // After that. Nothing when the end could not be waited for.
  [[nodiscard]] std::optional<ProgramEnd> end() { return end_.get(); }
  // See Tracer; of programs that are not traced, nothing happens.
  void hand_over() { tracer_.hand_over(); }
  [[nodiscard]] bool handed_over() const { return tracer_.handed_over(); }
  [[nodiscard]] Tracer::LetGo let_go() const { return tracer_.let_go(); }
  void on_exec(std::function<bool(pid_t)> untraceable) { tracer_.on_exec(std::move(untraceable)); }
  void on_hand_over(std::function<void()> prepare) { tracer_.on_hand_over(std::move(prepare)); }

  // Ends following, once the births are told of that are under way; the program, or what it has left, goes
  // on.
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
