// What the kernel tells of threads and processes below /proc: parsed from text, and read.
#pragma once

#include "millrace/base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace millrace::placement {

// A line of /proc/PID/task/TID/schedstat.
struct RunTimes {
  std::int64_t run_ns = 0;   // on a CPU
  std::int64_t wait_ns = 0;  // runnable, waiting for a CPU
  std::int64_t turns = 0;    // how often it got one
  RunTimes& operator+=(const RunTimes& other);
  [[nodiscard]] friend RunTimes operator-(const RunTimes& a, const RunTimes& b) {
    return {a.run_ns - b.run_ns, a.wait_ns - b.wait_ns, a.turns - b.turns};
  }
};
[[nodiscard]] std::optional<RunTimes> parse_schedstat(std::string_view text);

// Of /proc/PID/task/TID/stat.
struct TaskStat {
  std::string name;
  char state = '?';
  pid_t parent = 0;
  std::uint32_t flags = 0;       // PF_... of the kernel
  std::uint64_t start_time = 0;  // clock ticks since boot
  int cpu = -1;                  // where it ran last; -1: not told
  // A thread of the kernel's own, or one that it has made in a process, as for io_uring.
  [[nodiscard]] bool of_kernel() const;
};
[[nodiscard]] std::optional<TaskStat> parse_task_stat(std::string_view text);

// The value behind "NAME:" or "NAME   :" in files such as status, io and sched; nothing where it is missing
// or no whole number.
[[nodiscard]] std::optional<std::int64_t> parse_field(std::string_view text, std::string_view name);

[[nodiscard]] std::optional<TaskStat> read_task_stat(pid_t process, pid_t thread);
// The threads of a process, in no order; empty when it is gone.
[[nodiscard]] std::vector<pid_t> list_threads(pid_t process);
// Nanoseconds that all threads of a process, the ended ones too, have run; nothing when it is gone. Costs far
// less than asking each.
[[nodiscard]] std::optional<std::int64_t> run_time_of_process(pid_t process);
// Bytes that a process (all threads, also ended ones) asked to read and write; nothing where not permitted.
[[nodiscard]] std::optional<std::int64_t> transferred_bytes(pid_t process);
// Whether a signal waits for a process, or its first thread, to take it; false when that is gone.
[[nodiscard]] bool is_pending(pid_t process, int signal);
// Whether what is read there is told of this process and those that it sees; not where /proc is missing, or
// that of another PID namespace, whose numbers mean other processes.
[[nodiscard]] bool proc_is_of_this_namespace();
// The process that a thread is of; 0 when it is gone.
[[nodiscard]] pid_t process_of(pid_t thread);
// Whether it is one of that process's, also where that is another user's.
[[nodiscard]] bool is_thread_of(pid_t thread, pid_t process);
// The process that traces this one; 0: none.
[[nodiscard]] pid_t tracer_of(pid_t process);

}  // namespace millrace::placement
