// How the kernel schedules one thread: class, nice value, real-time priority, time slice. Set, read back.
#pragma once

#include "millrace/base/result.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include <sys/types.h>

namespace millrace::machine {

// As sched(7) names them without SCHED_. `unknown` is a class this version has no name for.
enum class SchedulingClass { other, batch, idle, fifo, rr, deadline, unknown };

// Whether its threads share CPUs by slices.
[[nodiscard]] bool is_fair(SchedulingClass scheduling_class);

[[nodiscard]] std::string_view name_of(SchedulingClass scheduling_class);
// "other", "batch", "idle", "fifo", "rr"; nothing for anything else.
[[nodiscard]] std::optional<SchedulingClass> parse_scheduling_class(std::string_view name);

// What a fair thread runs at most before the next one's turn; the kernel keeps custom slices within this.
constexpr std::int64_t shortest_slice_ns = 100'000;
constexpr std::int64_t longest_slice_ns = 100'000'000;

struct SchedulingAttributes {
  SchedulingClass scheduling_class = SchedulingClass::other;
  int nice = 0;               // -20 to 19; of no effect under fifo and rr
  int priority = 0;           // 1 to 99 under fifo and rr, else 0
  std::int64_t slice_ns = 0;  // of other and batch, where the kernel tells it (Linux 6.12 and newer); else 0
  bool reset_on_fork = false;
  [[nodiscard]] friend bool operator==(const SchedulingAttributes&, const SchedulingAttributes&) = default;
};

// `thread` is a thread's number, 0 the calling thread. Failure when it is gone or belongs to another user.
// Any thread may call it at any time, as the functions below.
[[nodiscard]] Result<SchedulingAttributes> scheduling_attributes(pid_t thread);

// A change of some attributes; what is left out stays as it is. A
// slice of 0 is the kernel's own; slices belong to the classes other and batch.
struct SchedulingChange {
  std::optional<SchedulingClass> scheduling_class;
  std::optional<std::int64_t> slice_ns;
  std::optional<int> priority;  // for fifo and rr; 1 where it is left out
  [[nodiscard]] friend bool operator==(const SchedulingChange&, const SchedulingChange&) = default;
};

// Reads, changes, writes and reads again; returns what the kernel granted: it clamps slices. Nice value and
// reset-on-fork stay; so does a slice that is not changed, and one that was the kernel's own stays the
// kernel's own. Usage error where the caller lacks the permission or the kernel the support, naming which;
// the attributes are then what they were.
[[nodiscard]] Result<SchedulingAttributes> change_scheduling(pid_t thread, const SchedulingChange& change);

// Gives another thread, such as a child that was made by this one, all that the calling thread has: class,
// priority, nice value, slice and reset-on-fork. Failure where that takes a right that is missing.
[[nodiscard]] Status hand_down_scheduling(pid_t thread);

// The slice of a fair thread that was never given one; 0 where the kernel has no slice for each thread. Costs
// the making of a thread when it is called for the first time.
[[nodiscard]] std::int64_t default_slice_ns();

}  // namespace millrace::machine
