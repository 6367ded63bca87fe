// Tracer: stops each new thread and process of a program before its first instruction, by ptrace.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/placement/apply/thread_register.h"
#include "millrace/placement/birth/launch.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <pthread.h>

#include <sys/resource.h>
#include <sys/types.h>

namespace millrace::placement {

// How a program ended.
struct ProgramEnd {
  int status = 0;  // as from waitpid()
  rusage usage{};  // of the program and its descendants that were waited for
};

// Threads run at full speed between births, ends, executions and signals; nothing else stops them. If the
// tracer ends for any reason, the kernel lets all threads go on untraced.
//
// Each wait makes the kernel scan all traced threads, so births take longer the more threads there are.
// Beyond most_threads, all threads are let go.
//
// The kernel ties tracing to a thread. All functions except stop(), hand_over() and handed_over() must be
// called from the thread that made the first call. When that thread ends, tracing ends.
class Tracer {
 public:
  // Reports everything to `threads`, which must outlive the tracer.
  explicit Tracer(ThreadRegister& threads);

  // With more threads at one time, all are handed over.
  static constexpr std::size_t most_threads = 1024;

  // Begins to trace a process that waits to be launched and that `threads` knows.
  Status follow(pid_t process);
  // Begins to trace all threads of a running process and its descendants. Fails with the reason if that is
  // not permitted or another tracer is attached; nothing is traced then.
  Status attach(pid_t process);

  // Handles events until stop() is called or nothing is left to trace. Calls `ended` once the process has
  // ended; its descendants are still followed.
  void run(const std::function<void(const ProgramEnd&)>& ended);

  // Ends run() and waits for it. Call this from another thread than run(). By then every thread has stopped
  // and been let go, so every birth before that has been reported.
  void stop();
  // Soon ends tracing for good, so that other tracers can attach and programs that change their user can be
  // started. run() goes on and reports the end of the process. Thread-safe.
  void hand_over();
  // Why tracing ended before stop() was called.
  enum class LetGo { not_yet, asked, untraceable, crowd };
  // True if nothing is traced any more.
  [[nodiscard]] bool handed_over() const { return handed_over_.load(std::memory_order_acquire); }
  // Why threads were let go before stop() was called. Call this after stop(), or once handed_over() is true.
  // Births since then have not been reported.
  [[nodiscard]] LetGo let_go() const { return let_go_.load(std::memory_order_acquire); }
  // run() calls this when a process has executed a program, before that begins. If it returns true, the
  // program must not be traced, and everything is handed over. Set it before run().
  void on_exec(std::function<bool(pid_t)> untraceable) { untraceable_ = std::move(untraceable); }
  // run() calls this before it lets threads go whose births are not reported any more. Set it before run().
  void on_hand_over(std::function<void()> prepare) { prepare_ = std::move(prepare); }

 private:
  Status seize(pid_t thread);
  void handle_stop(pid_t thread, int status);
  void handle_event(pid_t thread, int event, int signal);
  void handle_signal(pid_t thread, int signal);
  // A child that its maker has reported.
  struct Announced {
    pid_t family = 0;  // the maker's process
    std::optional<InheritedSettings> inherited;
  };
  void begin_life(pid_t thread, const Announced& child);
  void adopt_orphans(std::int64_t now);
  void continue_in_time(std::int64_t now);
  void stop_with_the_program(int signal);
  void begin_hand_over(LetGo reason);
  void forget_the_dead(std::int64_t now);
  [[nodiscard]] bool may_tell_more(std::int64_t waited_ns) const;
  void wake();
  void resume(pid_t thread, int signal);

  ThreadRegister* threads_;
  pid_t root_ = 0;
  std::map<pid_t, pid_t> owner_;  // process of each traced thread
  // Threads whose own first stop is still to come; the maker may be gone by then.
  std::map<pid_t, Announced> announced_;
  // Threads that stopped for the first time before their maker reported them, with the time of the stop. A
  // maker that is killed never reports.
  std::map<pid_t, std::int64_t> early_;
  std::function<bool(pid_t)> untraceable_;
  std::function<void()> prepare_;
  bool handing_over_ = false;  // from now on, threads are detached when they stop
  std::int64_t looked_for_dead_ns_ = 0;
  unsigned continuations_before_stop_ = 0;  // when the root was told to stop
  bool job_control_ = false;  // the root's last stop signal came from the terminal or the program itself
  // When to continue the root, which was stopped together with this process; 0: it is not stopped.
  std::int64_t continue_root_at_ns_ = 0;
  // Set by any thread and acted upon after the next waitpid(), which stop() interrupts. They publish no other
  // data.
  std::atomic<bool> stop_ = false;
  // stop() waits until run() has ended.
  std::mutex ending_;
  std::condition_variable ended_;
  bool done_ = false;
  std::atomic<bool> asked_to_hand_over_ = false;
  std::atomic<bool> handed_over_ = false;
  std::atomic<LetGo> let_go_ = LetGo::not_yet;
  std::atomic<pthread_t> runner_ = 0;
};

}  // namespace millrace::placement
