#include "millrace/pool/sleep_apart.h"

#include "millrace/base/clock.h"

#include <ctime>
#include <sched.h>
#include <utility>

#include <sys/resource.h>

namespace millrace::pool {

bool SleepApart::wanted(bool beside) {
  if (usage_when_woken_ && preempted_since(*usage_when_woken_)) placement_.preempted();
  usage_when_woken_.reset();
  return placement_.sleeps_apart(beside);
}

void SleepApart::woken(int slept_on, int waker_cpu, std::int64_t woken_at) {
  const bool pulled = slept_on >= 0 && slept_on != waker_cpu && sched_getcpu() == waker_cpu;
  placement_.woken(pulled, woken_at != 0 ? now_ns() - woken_at : 0);
  affinity_.restore();
  if (std::exchange(keeps_off_, false)) usage_when_woken_ = usage();
}

SleepApart::Usage SleepApart::usage() {
  // Neither call can fail with these arguments.
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  timespec cpu{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
  return {used.ru_nivcsw, nanoseconds(cpu), now_ns()};
}

bool SleepApart::preempted_since(const Usage& before) {
  const Usage after = usage();
  return after.preemptions != before.preemptions &&
         (after.at_ns - before.at_ns) - (after.cpu_ns - before.cpu_ns) > WakePlacement::slow_ns;
}

}  // namespace millrace::pool
