#include "millrace/placement/apply/changes_by_others.h"

#include "millrace/base/error/clock.h"
#include "millrace/machine/limits/open_cpus.h"
#include "millrace/placement/apply/inherited_settings.h"
#include "millrace/placement/task/task_files.h"

#include <tuple>
#include <utility>
#include <vector>

namespace millrace::placement {

using machine::CpuSet;

CpuSet ChangesByOthers::open_at_birth(pid_t process, bool inherits, Original& now) const {
  // Inherited limits are known already; reading them takes a while.
  if (inherits && tree_->program() && !tree_->program()->open.empty())
    return tree_->program()->open.contains_all(now.mask) ? tree_->program()->open : CpuSet();
  CpuSet open = sources_.open_cpus(process);
  if (!inherits && now.mask != open && !open.empty()) {
    // It may have changed before the open CPUs were read.
    if (auto again = sources_.read(process)) now = std::move(*again);
    if (open.contains_all(now.mask)) settle_mask(process, open, now);
  }
  // Some containers show only part of the control groups; do not trust what is read there.
  return open.contains_all(now.mask) ? open : CpuSet();
}

void ChangesByOthers::explain_mask(FollowedProcess& process, pid_t thread, Original& now) {
  note_open(process, sources_.open_cpus(process.id.number));
  if (now.mask != process.original.mask) settle_mask(thread, process.open, now);
}

// A CPU that is going offline or coming online at this moment is missing in a mask but still, or already,
// open. Puts it into the mask.
void ChangesByOthers::settle_mask(pid_t thread, const CpuSet& open, Original& now) const {
  if (CpuSet whole = sources_.whole_mask(thread) & open; !whole.empty()) now.mask = std::move(whole);
}

void ChangesByOthers::note_open(FollowedProcess& process, const CpuSet& open) {
  if (open.empty() || open == process.open) return;
  const CpuSet then = process.open;
  if (!tree_->confine(process, open)) return;
  confined_(then, open);
  tree_->await_plan();
}

bool ChangesByOthers::find_open() {
  if (tree_->processes().empty()) return false;
  const auto& [number, first] = *tree_->processes().begin();
  const CpuSet open = sources_.open_cpus(number);
  if (open.empty() || open == first.open) return false;
  for (auto& [id, process] : tree_->processes())
    note_open(process, id == number ? open : sources_.open_cpus(id));
  return true;
}

bool ChangesByOthers::changed_by_kernel(FollowedProcess& process, FollowedThread& thread,
                                        const Original& now) {
  const ChangedThread& state = thread.state;
  if (process.open.empty() || attributes_of(now) != attributes_of(state.last)) return false;
  const auto changer = [&](const CpuSet& whole) {
    const bool own = state.last.mask == state.original.mask || state.last.mask == state.open;
    MaskHistory history{.asked = state.asked,
                        .had = state.last.mask,
                        .open_then = state.open,
                        .seen = now.mask,
                        .open_now = process.open,
                        .open_changed = state.open_changed,
                        .whole = whole};
    if (history.asked.empty())
      history.asked = own && state.original.any_cpu ? machine::every_cpu() : state.last.mask;
    return who_changed(history, sources_.kernel);
  };
  // The open CPUs and the whole mask are read only on demand.
  if (changer({}) != MaskChanger::kernel) {
    note_open(process, sources_.open_cpus(process.id.number));
    const MaskChanger found = changer(sources_.whole_mask(state.number));
    if (found == MaskChanger::not_known_yet) {
      tree_->await_plan(thread);
      return true;
    }
    if (found != MaskChanger::kernel) return now.mask == process.open && forgotten_by_kernel(process);
  }
  take_kernels(process, thread, now.mask);
  return true;
}

void ChangesByOthers::take_kernels(const FollowedProcess& process, FollowedThread& thread,
                                   const CpuSet& mask) {
  thread.state.last.mask = mask;
  thread.state.open = process.open;
  thread.state.open_changed = false;
  thread.state.confined = true;
  tree_->await_plan(thread);
}

// Before Linux 6.2, each change of a cpuset makes the kernel forget the masks of all its threads, even if the
// change has been undone by now. A program hardly gives all CPUs to several threads between two looks.
bool ChangesByOthers::forgotten_by_kernel(FollowedProcess& process) {
  if (sources_.kernel != KernelMasks::forgets) return false;
  std::vector<FollowedThread*> changed;
  for (auto& [id, thread] : process.threads) {
    const auto now = sources_.read(id);
    if (!now || process.left_alone.contains(id)) continue;
    if (now->mask != process.open || attributes_of(*now) != attributes_of(thread.state.last)) return false;
    if (thread.state.last.mask != now->mask) changed.push_back(&thread);
  }
  constexpr std::size_t several = 2;
  if (changed.size() < several) return false;
  for (FollowedThread* thread : changed)
    take_kernels(process, *thread, process.open);
  return true;
}

void ChangesByOthers::notice_put_back(FollowedThread& thread) {
  const auto state =
      spawning_ == nullptr ? SpawningThreads::State::none : spawning_->state_of(thread.state.number);
  thread.starting = state == SpawningThreads::State::starting;
  if (!thread.puts_back && state == SpawningThreads::State::none) return;
  const auto now = sources_.read(thread.state.number);
  const bool has_put_back = now && now->mask == thread.state.original.mask;
  if (has_put_back) {
    thread.state.has_taken(now->mask);
    thread.new_born = true;  // so that it is given its mask again
    thread.puts_back = false;
  }
  // It stays registered until it has its mask again, because it may start another program before that.
  if (state == SpawningThreads::State::done && !has_put_back) spawning_->take_out(thread.state.number);
}

// A thread registers as a starter before it changes anything. So if that was unknown when its mask was read,
// it is known by now.
bool ChangesByOthers::is_managed(FollowedProcess& process, FollowedThread& thread) {
  const auto as_left = [&thread](const Result<Original>& now) {
    return !now || same_but_nice(*now, thread.state.last);
  };
  if (as_left(sources_.read(thread.state.number))) return false;
  notice_put_back(thread);
  const auto now = sources_.read(thread.state.number);
  return !as_left(now) && !changed_by_kernel(process, thread, *now);
}

void ChangesByOthers::leave_alone(FollowedProcess& process, FollowedThread& thread) {
  process.left_alone.insert(thread.state.number);
  std::ignore = journal_->leave_alone(process.id, thread.state.number,
                                      given_to(thread.state.original, thread.state.last));
  if (thread.name.empty())
    if (const auto stat = read_task_stat(process.id.number, thread.state.number)) thread.name = stat->name;
  left_alone_.insert(thread.name);
}

void ChangesByOthers::find_all() {
  find_open();
  for (auto& [number, process] : tree_->processes())
    for (auto& [id, thread] : process.threads)
      if (!process.left_alone.contains(id)) {
        notice_put_back(thread);
        if (is_managed(process, thread)) leave_alone(process, thread);
      }
  // Spawning that ended meanwhile, including that of processes that were never seen.
  if (spawning_ == nullptr) return;
  for (const pid_t thread : spawning_->all())
    if (!tree_->contains(thread) && !sources_.read(thread)) spawning_->forget(thread);
}

}  // namespace millrace::placement
