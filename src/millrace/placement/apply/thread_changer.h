// ThreadChanger: gives threads what a policy says, so that it can be undone.
#pragma once

#include "millrace/placement/apply/heritage.h"
#include "millrace/placement/apply/journal.h"
#include "millrace/placement/policy/policy.h"

#include <optional>
#include <string>

#include <sys/types.h>

namespace millrace::placement {

// A thread as far as changes go.
struct ChangedThread {
  pid_t number = 0;
  Original original;  // what it had before anything was changed
  Original last;      // what it has, as it was last read back
  // The mask that it, or millrace, asked the kernel for last; empty: none is known, it has what it had.
  machine::CpuSet asked = {};
  machine::CpuSet open = {};  // what was open to it when `last` was read; empty: not known
  // The kernel has made another mask of what was asked for, which it may remember: it is to be asked anew.
  bool confined = false;
  void has_taken(const machine::CpuSet& mask) { last.mask = asked = mask; }
};

// Whether a thread that had `original` has something else by `plan`.
[[nodiscard]] inline bool is_change(const Original& original, const ThreadPlan& plan) {
  return (!plan.mask.empty() && plan.mask != original.mask) ||
         plan.scheduling_class.value_or(original.scheduling_class) != original.scheduling_class ||
         plan.slice_ns.value_or(original.slice_ns) != original.slice_ns;
}

// Every change is journalled before, and read back after; from the first line on that cannot be journalled
// nothing is changed any more.
//
// Used by one thread at a time.
class ThreadChanger {
 public:
  // `journal` outlives it.
  explicit ThreadChanger(Journal& journal) : journal_(&journal) {}

  // What `plan` says nothing of, the thread gets as it had it before. False, and nothing done, where somebody
  // else has changed the thread.
  [[nodiscard]] bool give(ChangedThread& thread, const ThreadPlan& plan);
  // Whether nobody else has changed it, or it is gone.
  [[nodiscard]] static bool as_left(const ChangedThread& thread);
  // What a thread that has `now` has but for what it was given.
  [[nodiscard]] static Original own_of(const ChangedThread& thread, Original now);
  // Remembers why, where a line could not be written.
  void note(const Status& journalled);

  // What was given so far, by it or, as a mask that is laid ready for new threads to take, by others.
  [[nodiscard]] const GivenStates& given() const { return given_; }
  void note_given(const Original& given, const Original& original) { given_.add(given, original); }
  void confine_given(const machine::CpuSet& open_then, const machine::CpuSet& open_now) {
    given_.confine(open_then, open_now);
  }

  struct Counts {
    int changes = 0;  // masks, classes and slices that were set
    int refused = 0;  // that the kernel did not grant
    std::string first_refusal;
    std::string not_journalled;  // why nothing is changed any more: what cannot be undone is not done
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  [[nodiscard]] bool journalled(const Status& written);
  [[nodiscard]] bool give_mask(ChangedThread& thread, const ThreadPlan& plan);
  void give_attributes(ChangedThread& thread, const ThreadPlan& plan);
  void refuse(const Error& error);

  Journal* journal_;
  GivenStates given_;
  Counts counts_;
};

}  // namespace millrace::placement
