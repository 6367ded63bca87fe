#include "millrace/placement/apply/thread_changer.h"

#include "millrace/machine/thread/scheduling_attributes.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/placement/apply/mask_changes.h"
#include "millrace/placement/task/task_files.h"

#include <utility>

namespace millrace::placement {

bool ThreadChanger::journalled(const Status& written) {
  if (!written && counts_.not_journalled.empty()) counts_.not_journalled = written.error().message;
  return written.has_value();
}

void ThreadChanger::note(const Status& written) { std::ignore = journalled(written); }

void ThreadChanger::refuse(const Error& error) {
  // A thread that ends meanwhile is not a refusal.
  if (error.kind == ErrorKind::ended) return;
  if (++counts_.refused == 1) counts_.first_refusal = error.message;
}

bool ThreadChanger::as_left(const ChangedThread& thread) {
  const auto now = read_original(thread.number);
  return !now || same_but_nice(*now, thread.last);
}

Original ThreadChanger::own_of(const ChangedThread& thread, Original now) {
  GivenStates given;
  given.add(thread.last, thread.original);
  return given.before(std::move(now));
}

const GivenStates& ThreadChanger::given_before_birth(std::optional<std::uint64_t> start_time) const {
  static const GivenStates nothing;
  return start_time && first_change_ && *start_time < *first_change_ ? nothing : given_;
}

// Call this before the change. The kernel copies the state of a thread's maker before it sets the thread's
// start time, so a thread that began in an earlier tick has inherited nothing that was given.
void ThreadChanger::note_first_change() {
  if (!first_change_) first_change_ = ticks_since_boot();
}

bool ThreadChanger::give(ChangedThread& thread, const ThreadPlan& plan) {
  if (!counts_.not_journalled.empty()) return true;
  if (!as_left(thread) || !give_mask(thread, plan)) return false;
  give_attributes(thread, plan);
  return true;
}

bool ThreadChanger::give_mask(ChangedThread& thread, const ThreadPlan& plan) {
  const machine::CpuSet& mask = plan.mask.empty() ? thread.original.mask : plan.mask;
  if (mask == thread.last.mask && !thread.confined) return true;
  const bool gives_back_all = plan.mask.empty() && thread.original.any_cpu;
  const machine::CpuSet asked =
      plan.mask.empty() ? to_give_back(mask, thread.original.any_cpu, thread.open) : mask;
  // A mask that millrace did not set need not be undone.
  if (!gives_back_all && !journalled(journal_->add_mask(asked))) return true;
  // Writing takes a while, and a thread that is not stopped may choose its own mask meanwhile.
  if (!as_left(thread)) return false;
  note_first_change();
  auto granted = machine::bind_thread(thread.number, asked);
  if (!granted) {
    refuse(granted.error());
    return true;
  }
  if (*granted != thread.last.mask) ++counts_.changes;
  if (!gives_back_all && *granted != asked) note(journal_->add_mask(*granted));
  thread.asked = asked;
  thread.confined = false;
  thread.last.mask = std::move(*granted);
  given_.add(thread.last, thread.original);
  return true;
}

// A class that could not be given back is not taken away.
machine::SchedulingClass ThreadChanger::class_for(const ChangedThread& thread, const ThreadPlan& plan) {
  const auto own = thread.original.scheduling_class;
  const auto planned = plan.scheduling_class.value_or(own);
  if (planned == own) return own;
  const auto may = machine::may_give_back_class(
      thread.number, {.scheduling_class = own, .priority = thread.original.priority});
  if (may) return planned;
  refuse(may.error());
  return own;
}

void ThreadChanger::give_attributes(ChangedThread& thread, const ThreadPlan& plan) {
  machine::SchedulingChange change;
  const auto scheduling_class = class_for(thread, plan);
  if (scheduling_class != thread.last.scheduling_class) {
    change.scheduling_class = scheduling_class;
    if (scheduling_class == thread.original.scheduling_class) change.priority = thread.original.priority;
  }
  const bool fair = scheduling_class == machine::SchedulingClass::other ||
                    scheduling_class == machine::SchedulingClass::batch;
  const std::int64_t slice = plan.slice_ns.value_or(thread.original.slice_ns);
  if (fair && slice != thread.last.slice_ns) change.slice_ns = slice;
  if (change == machine::SchedulingChange()) return;
  if (!journalled(journal_->add_attributes({scheduling_class, fair ? slice : 0}))) return;
  note_first_change();
  const auto granted = machine::change_scheduling(thread.number, change);
  if (!granted) return refuse(granted.error());
  ++counts_.changes;
  thread.last.scheduling_class = granted->scheduling_class;
  thread.last.slice_ns = granted->slice_ns == machine::default_slice_ns() ? 0 : granted->slice_ns;
  given_.add(thread.last, thread.original);
  if (attributes_of(thread.last) != Attributes(scheduling_class, fair ? slice : 0))
    note(journal_->add_attributes(attributes_of(thread.last)));
}

}  // namespace millrace::placement
