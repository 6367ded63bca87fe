// Parses and reads the files about threads and processes in /proc.
#pragma once

#include "millrace/base/error/result.h"

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
  std::int64_t turns = 0;    // how often it got a CPU
  RunTimes& operator+=(const RunTimes& other);
  [[nodiscard]] friend RunTimes operator-(const RunTimes& a, const RunTimes& b) {
    return {a.run_ns - b.run_ns, a.wait_ns - b.wait_ns, a.turns - b.turns};
  }
};
[[nodiscard]] std::optional<RunTimes> parse_schedstat(std::string_view text);

// From /proc/PID/task/TID/stat.
struct TaskStat {
  std::string name;
  char state = '?';
  pid_t parent = 0;
  std::uint32_t flags = 0;       // the kernel's PF_ flags
  std::uint64_t start_time = 0;  // clock ticks since boot
  int cpu = -1;                  // the CPU it ran on last; -1: not reported
  // True for kernel threads, including those that the kernel made in a process, as for io_uring.
  [[nodiscard]] bool of_kernel() const;
};
[[nodiscard]] std::optional<TaskStat> parse_task_stat(std::string_view text);

// The value after "NAME:" or "NAME   :" in files such as status, io and sched; nothing if it is missing or
// not an integer.
[[nodiscard]] std::optional<std::int64_t> parse_field(std::string_view text, std::string_view name);

[[nodiscard]] std::optional<TaskStat> read_task_stat(pid_t process, pid_t thread);
// The threads of a process, in no particular order; empty if it is gone.
[[nodiscard]] std::vector<pid_t> list_threads(pid_t process);
// Run time in nanoseconds of all threads of a process, including ended ones; nothing if it is gone. Costs far
// less than reading each thread.
[[nodiscard]] std::optional<std::int64_t> run_time_of_process(pid_t process);
// Bytes that a process (all threads, including ended ones) asked to read and write; nothing if not permitted.
[[nodiscard]] std::optional<std::int64_t> transferred_bytes(pid_t process);
// True if a signal is pending for a process or its first thread; false if the process is gone.
[[nodiscard]] bool is_pending(pid_t process, int signal);
// True if /proc describes this process's own PID namespace. False if /proc is missing or belongs to another
// namespace, whose numbers mean other processes.
[[nodiscard]] bool proc_is_of_this_namespace();
// True if the children of this process will be in another PID namespace, as after `unshare --pid` without
// --fork. The numbers that they see then mean other processes.
[[nodiscard]] bool children_leave_this_namespace();
// The present on the clock of TaskStat::start_time.
[[nodiscard]] std::uint64_t ticks_since_boot();
// The process of a thread; 0 if the thread is gone.
[[nodiscard]] pid_t process_of(pid_t thread);
// True if the thread belongs to the process; works for other users' processes too.
[[nodiscard]] bool is_thread_of(pid_t thread, pid_t process);
// The process that traces this one; 0: none.
[[nodiscard]] pid_t tracer_of(pid_t process);

}  // namespace millrace::placement
