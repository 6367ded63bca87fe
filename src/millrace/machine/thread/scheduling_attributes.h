// Scheduling attributes of a thread: class, nice value, real-time priority, time slice. Read, set and read
// back.
#pragma once

#include "millrace/base/error/result.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include <sys/types.h>

namespace millrace::machine {

// The classes of sched(7) without SCHED_. `unknown` is a class that this version does not know.
enum class SchedulingClass { other, batch, idle, fifo, rr, deadline, unknown };

// Whether threads of the class share CPUs in time slices.
[[nodiscard]] bool is_fair(SchedulingClass scheduling_class);

[[nodiscard]] std::string_view name_of(SchedulingClass scheduling_class);
// "other", "batch", "idle", "fifo", "rr". Nothing for any other name.
[[nodiscard]] std::optional<SchedulingClass> parse_scheduling_class(std::string_view name);

// The range of time slices for fair threads. The kernel clamps custom slices to it.
constexpr std::int64_t shortest_slice_ns = 100'000;
constexpr std::int64_t longest_slice_ns = 100'000'000;

struct SchedulingAttributes {
  SchedulingClass scheduling_class = SchedulingClass::other;
  int nice = 0;               // -20 to 19; under fifo and rr, kept for later
  int priority = 0;           // 1 to 99 under fifo and rr, else 0
  std::int64_t slice_ns = 0;  // for other and batch on Linux 6.12 and newer; otherwise 0
  bool reset_on_fork = false;
  [[nodiscard]] friend bool operator==(const SchedulingAttributes&, const SchedulingAttributes&) = default;
};

// `thread` is a thread ID, 0 for the calling thread. Fails if the thread is gone or belongs to another user.
// Thread-safe, like the functions below.
[[nodiscard]] Result<SchedulingAttributes> scheduling_attributes(pid_t thread);

// A change of some attributes; empty fields stay unchanged. A slice of 0 selects the kernel's default. Slices
// apply only to the classes other and batch.
struct SchedulingChange {
  std::optional<SchedulingClass> scheduling_class;
  std::optional<std::int64_t> slice_ns;
  std::optional<int> priority;  // for fifo and rr; defaults to 1
  [[nodiscard]] friend bool operator==(const SchedulingChange&, const SchedulingChange&) = default;
};

// Reads, changes, writes and reads back. Returns what the kernel granted, because it clamps slices. Nice
// value and reset-on-fork are kept, and so is the slice unless it is changed; a default slice stays the
// default. Returns a usage error if the caller lacks the permission or the kernel the support, and says
// which. The attributes are then unchanged.
[[nodiscard]] Result<SchedulingAttributes> change_scheduling(pid_t thread, const SchedulingChange& change);

// Checks whether this process could give a thread its class back after the thread has left it. Fails for
// classes that change_scheduling() does not set, and for real-time classes without the right to set them.
// own: the thread's attributes in its class.
[[nodiscard]] Status may_give_back_class(pid_t thread, const SchedulingAttributes& own);

// Copies all attributes of the calling thread to another thread, such as a child process: class, priority,
// nice value, slice and reset-on-fork. Fails if that needs a missing permission.
[[nodiscard]] Status hand_down_scheduling(pid_t thread);

// The default slice of a fair thread; 0 if the kernel has no per-thread slices. The first call may create a
// thread.
[[nodiscard]] std::int64_t default_slice_ns();

}  // namespace millrace::machine
