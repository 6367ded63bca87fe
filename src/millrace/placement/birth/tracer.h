// Tracer: stops each new thread and process of a program before its first instruction, by ptrace.
#pragma once

#include "millrace/base/result.h"
#include "millrace/placement/apply/thread_register.h"
#include "millrace/placement/birth/launch.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <pthread.h>

#include <sys/resource.h>
#include <sys/types.h>

namespace millrace::placement {

// How a program ended.
struct ProgramEnd {
  int status = 0;  // as waitpid gives it
  rusage usage{};  // of it and of its descendants that were waited for
};

// Threads run at full speed between births, ends, executions and signals: nothing else stops them. If the
// tracer ends for whatever reason, the kernel lets all go on untraced.
//
// Whoever waits for what happens next, the kernel looks through all threads that are traced: a birth takes
// the longer the more there are. So many are let go: see most_threads.
//
// The kernel ties tracing to a thread: all functions but stop(), hand_over() and handed_over()
// belong to the thread that called the first one, and when that thread ends, tracing ends.
class Tracer {
 public:
  // `threads` is told of what happens and outlives the tracer.
  explicit Tracer(ThreadRegister& threads);

  // With more threads at once, all is handed over.
  static constexpr std::size_t most_threads = 1024;

  // Begins to trace a process that waits to be launched and that `threads` knows.
  Status follow(pid_t process);
  // Begins to trace all threads of a running process and its descendants. Failure, naming the reason, when
  // that is not permitted or another tracer is there; nothing is traced then.
  Status attach(pid_t process);

  // Handles what happens until stop() is called or nothing is left to trace. ended: called once the process
  // has ended; its descendants are followed further.
  void run(const std::function<void(const ProgramEnd&)>& ended);

  // Ends run(), and waits for that; by another thread than run()'s. Every thread has stopped then and was let
  // go, so whoever was made before by one that had something to hand down was told of.
  void stop();
  // Ends tracing soon, for good, for others to trace and programs that change their user to be started; run()
  // goes on and tells of the end of the process. By any thread.
  void hand_over();
  // Why tracing ended before stop() was called.
  enum class LetGo { not_yet, asked, untraceable, crowd };
  // Whether nothing is traced any more.
  [[nodiscard]] bool handed_over() const { return handed_over_.load(std::memory_order_acquire); }
  // Of threads that were let go before stop() was called; to be asked after that, or after handed_over().
  // Nobody has told of what they made since.
  [[nodiscard]] LetGo let_go() const { return let_go_.load(std::memory_order_acquire); }
  // Called, in run(), when a process has executed a program, before that begins. True: it must not be traced;
  // all is handed over then. To be set before run().
  void on_exec(std::function<bool(pid_t)> untraceable) { untraceable_ = std::move(untraceable); }
  // Called, in run(), before threads are let go that nobody will tell of. To be set before run().
  void on_hand_over(std::function<void()> prepare) { prepare_ = std::move(prepare); }

 private:
  Status seize(pid_t thread);
  void handle_stop(pid_t thread, int status);
  void handle_event(pid_t thread, int event, int signal);
  void handle_signal(pid_t thread, int signal);
  // A child that its maker told of.
  struct Announced {
    pid_t family = 0;  // the maker's process
    std::optional<Heritage> heritage;
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
  std::map<pid_t, pid_t> owner_;  // process of each thread that is traced
  // Threads whose own first stop is still to come; the maker may be gone by then.
  std::map<pid_t, Announced> announced_;
  // Stopped for the first time, their maker's word still to come, since when. A maker that is killed never
  // speaks.
  std::map<pid_t, std::int64_t> early_;
  std::function<bool(pid_t)> untraceable_;
  std::function<void()> prepare_;
  bool handing_over_ = false;  // from now on who stops is let go untraced
  std::int64_t looked_for_dead_ns_ = 0;
  unsigned continuations_before_stop_ = 0;  // when the root was told to stop
  bool job_control_ = false;  // the root's last stop signal is the terminal's, or the program's own doing
  // When the root, stopped together with this process, is to be continued with it; 0: it is not stopped.
  std::int64_t continue_root_at_ns_ = 0;
  // Set by any thread, acted upon after the next waitpid, which stop() makes return: no data goes with them.
  std::atomic<bool> stop_ = false;
  std::atomic<bool> done_ = false;
  std::atomic<bool> asked_to_hand_over_ = false;
  std::atomic<bool> handed_over_ = false;
  std::atomic<LetGo> let_go_ = LetGo::not_yet;
  std::atomic<pthread_t> runner_ = 0;
};

}  // namespace millrace::placement
