// ThreadChanger: gives threads what a policy decided, in a way that can be undone.
#pragma once

#include "millrace/placement/apply/inherited_settings.h"
#include "millrace/placement/apply/journal.h"
#include "millrace/placement/policy/policy.h"

#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

namespace millrace::placement {

// The state of a thread as far as changes need it.
struct ChangedThread {
  pid_t number = 0;
  Original original;  // its state before anything was changed
  Original last;      // its state as it was last read back
  // The latest mask that the thread or millrace requested from the kernel. Empty: no request is known, so it
  // has its original mask.
  machine::CpuSet asked = {};
  machine::CpuSet open = {};  // the CPUs open to it when `last` was read; empty: not known
  bool open_changed = false;  // other CPUs have been open since
  // The kernel has derived another mask from the requested one, which it may remember: request it again.
  bool confined = false;
  void has_taken(const machine::CpuSet& mask) { last.mask = asked = mask; }
};

// True if `plan` gives a thread something other than `original`.
[[nodiscard]] inline bool is_change(const Original& original, const ThreadPlan& plan) {
  return (!plan.mask.empty() && plan.mask != original.mask) ||
         plan.scheduling_class.value_or(original.scheduling_class) != original.scheduling_class ||
         plan.slice_ns.value_or(original.slice_ns) != original.slice_ns;
}

// Journals every change first and reads it back afterwards. Once a line cannot be journalled, nothing is
// changed any longer.
//
// Not thread-safe.
class ThreadChanger {
 public:
  // `journal` must outlive this object.
  explicit ThreadChanger(Journal& journal) : journal_(&journal) {}

  // Restores whatever `plan` does not mention. Returns false and does nothing if another program has changed
  // the thread.
  [[nodiscard]] bool give(ChangedThread& thread, const ThreadPlan& plan);
  // True if no other program has changed the thread, or it is gone.
  [[nodiscard]] static bool as_left(const ChangedThread& thread);
  // Returns the thread's state `now` without what it was given.
  [[nodiscard]] static Original own_of(const ChangedThread& thread, Original now);
  // Remembers the reason if a line could not be written.
  void note(const Status& journalled);

  // Everything that was given so far.
  [[nodiscard]] const GivenStates& given() const { return given_; }
  // What a thread with this start time (see TaskStat) may have inherited. Nothing if it began before the
  // first change: it then chose its state itself, even if others were given the same since.
  [[nodiscard]] const GivenStates& given_before_birth(std::optional<std::uint64_t> start_time) const;
  void confine_given(const machine::CpuSet& open_then, const machine::CpuSet& open_now) {
    given_.confine(open_then, open_now);
  }

  struct Counts {
    int changes = 0;  // masks, classes and slices that were set
    int refused = 0;  // changes that the kernel did not grant
    std::string first_refusal;
    std::string not_journalled;  // why changes have stopped: millrace does not do what it could not undo
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  [[nodiscard]] bool journalled(const Status& written);
  [[nodiscard]] bool give_mask(ChangedThread& thread, const ThreadPlan& plan);
  [[nodiscard]] machine::SchedulingClass class_for(const ChangedThread& thread, const ThreadPlan& plan);
  void give_attributes(ChangedThread& thread, const ThreadPlan& plan);
  void refuse(const Error& error);
  void note_first_change();

  Journal* journal_;
  std::optional<std::uint64_t> first_change_;  // as TaskStat::start_time
  GivenStates given_;
  Counts counts_;
};

}  // namespace millrace::placement
