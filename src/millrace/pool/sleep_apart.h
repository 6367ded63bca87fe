// SleepApart: how a thread sleeps so that it is not woken on the CPU of the thread that wakes it, once that
// has been seen to happen (WakePlacement).
#pragma once

#include "millrace/machine/cpu_set.h"
#include "millrace/machine/narrowed_affinity.h"
#include "millrace/pool/wake_placement.h"

#include <cstdint>
#include <optional>

namespace millrace::pool {

// A sleep is: wanted(); if so keep_off() or stay_on(); the sleep; woken(). While the thread is awake it has
// all CPUs that were granted to it, so that the kernel may move it as it likes.
//
// To be used by one thread. Allocates nothing after construction.
class SleepApart {
 public:
  // Knows no CPUs; learns, but never keeps off any.
  SleepApart() = default;
  // `granted`: the CPUs that the thread may use, as read back from the kernel.
  explicit SleepApart(const machine::CpuSet& granted) : affinity_(granted) {}

  // `beside`: the thread is on its waker's CPU, as far as is known.
  [[nodiscard]] bool wanted(bool beside);

  // The kernel is to wake the thread anywhere but on `cpu`, or there alone. A thread that is on a barred CPU
  // has moved when the call returns. Unknown CPUs (-1) and sets of one CPU bar nothing.
  void keep_off(int cpu) { keeps_off_ = affinity_.keep_off(cpu); }
  void stay_on(int cpu) { affinity_.stay_on(cpu); }

  // After the sleep: it slept on `slept_on` and was woken from `waker_cpu`, each -1 if unknown, at `woken_at`
  // (now_ns; 0 if unknown).
  void woken(int slept_on, int waker_cpu, std::int64_t woken_at);

 private:
  // Of the calling thread, since it began.
  struct Usage {
    std::int64_t preemptions = 0;
    std::int64_t cpu_ns = 0;
    std::int64_t at_ns = 0;  // the clock
  };
  [[nodiscard]] static Usage usage();
  // Whether another program took the CPU away for long since `before`. Not if it was for microseconds: that
  // was the waker, woken here.
  [[nodiscard]] static bool preempted_since(const Usage& before);

  WakePlacement placement_;
  machine::NarrowedAffinity affinity_;
  // What the thread had used when it was last woken, having kept off a CPU; none if it slept otherwise.
  std::optional<Usage> usage_when_woken_;
  bool keeps_off_ = false;  // in this sleep
};

}  // namespace millrace::pool
