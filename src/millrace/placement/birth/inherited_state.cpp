#include "millrace/placement/birth/inherited_state.h"

#include "millrace/machine/thread/scheduling_attributes.h"

#include <csignal>
#include <cstddef>
#include <unistd.h>

#include <sys/prctl.h>

namespace millrace::placement {

InheritedState InheritedState::now() {
  InheritedState state;
  prctl(PR_GET_PDEATHSIG, &state.parent_death_signal_);
  int is_subreaper = 0;
  state.is_subreaper_ = prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) == 0 && is_subreaper != 0;
  const auto own = machine::scheduling_attributes(0);
  state.resets_on_fork_ = own && own->reset_on_fork;
  for (std::size_t i = 0; i < timers.size(); ++i)
    getitimer(timers[i], &state.set_[i]);
  return state;
}

Status InheritedState::hand_down(pid_t child) const {
  return resets_on_fork_ ? machine::hand_down_scheduling(child) : Status();
}

void InheritedState::take_over(pid_t maker) const {
  if (is_subreaper_) prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (std::size_t i = 0; i < timers.size(); ++i)
    setitimer(timers[i], &set_[i], nullptr);
  if (parent_death_signal_ == 0) return;
  prctl(PR_SET_PDEATHSIG, parent_death_signal_);
  if (getppid() != maker) raise(parent_death_signal_);  // the parent ended before the line above
}

void InheritedState::give_up_timers() const {
  const itimerval none{};
  for (std::size_t i = 0; i < timers.size(); ++i)
    if (set_[i].it_value.tv_sec != 0 || set_[i].it_value.tv_usec != 0) setitimer(timers[i], &none, nullptr);
}

}  // namespace millrace::placement
