// Tracer: stops each new thread and process of a program before its first instruction, by ptrace.
#pragma once

#include "millrace/base/result.h"
#include "millrace/placement/apply/thread_register.h"
#include "millrace/placement/birth/launch.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include <sys/resource.h>
#include <sys/types.h>

namespace millrace::placement {

// How a program ended.
struct ProgramEnd {
  int status = 0;  // as waitpid gives it
  rusage usage{};  // of it and of its descendants that were waited for
};

// A signal on its way to the program's first process.
struct SeenSignal {
  int number = 0;
  pid_t sender = 0;  // 0: the kernel
  std::int64_t time_ns = 0;
};

// Threads run at full speed between births, ends, executions and signals: nothing else stops them. If the
// tracer ends for whatever reason, the kernel lets all go on untraced.
//
// The kernel ties tracing to a thread: all functions but stop(), stopped_by_terminal() and last_signal()
// belong to the thread that called the first one, and when that thread ends, tracing ends.
class Tracer {
 public:
  // `threads` is told of what happens and outlives the tracer.
  explicit Tracer(ThreadRegister& threads) : threads_(&threads) {}

  // Begins to trace a process that waits to be launched.
  Status follow(pid_t process);
  // Begins to trace all threads of a running process and its descendants. Failure, naming the reason, when
  // that is not permitted or another tracer is there; nothing is traced then.
  Status attach(pid_t process);

  // Handles what happens until the process ends or stop() is called. Nothing: stop() was called.
  [[nodiscard]] std::optional<ProgramEnd> run();

  // Ends run() soon.
  void stop();
  // Called, in run(), after the terminal has stopped the process (Ctrl-Z, or background input or output).
  void on_terminal_stop(std::function<void()> action) { terminal_stop_ = std::move(action); }
  // The last signal that reached the process.
  [[nodiscard]] SeenSignal last_signal() const;

 private:
  Status seize(pid_t thread);
  void handle_stop(pid_t thread, int status);
  void handle_event(pid_t thread, int event, int signal);
  void handle_signal(pid_t thread, int signal);
  void begin_life(pid_t thread);
  void resume(pid_t thread, int signal);

  ThreadRegister* threads_;
  pid_t root_ = 0;
  std::map<pid_t, pid_t> owner_;  // process of each thread that is traced
  std::map<pid_t, pid_t> maker_;  // of threads whose own first stop is still to come
  std::set<pid_t> early_;         // stopped for the first time, their maker's event still to come
  std::function<void()> terminal_stop_;
  bool terminal_signal_ = false;  // the root's last stop signal came from the terminal
  // Set by any thread, acted upon after the next waitpid, which stop() makes return: no data goes with it.
  std::atomic<bool> stop_ = false;
  mutable std::mutex signal_mutex_;
  SeenSignal last_signal_;
};

}  // namespace millrace::placement
