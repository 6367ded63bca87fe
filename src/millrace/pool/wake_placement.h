// WakePlacement: whether a thread that goes to sleep should bar the kernel from waking it on the CPU of the
// thread that will wake it. Pure: numbers in, a decision out; SleepApart acts on it.
//
// A kernel wakes a thread where it slept if that CPU is idle. In a virtual machine it may take an idle CPU
// for one that the hypervisor has taken away, and wakes the thread beside its waker. Two threads that hand
// work to each other then share one CPU while the other stands idle, for milliseconds, as there is nothing to
// see for the load balancer: a fork and a join of 0.2 us take 6, and two halves of a frame twice their time.
// The same where all CPUs are busy with other programs, but there it may be right: a thread that is barred
// from the one CPU waits for another program's time slice on the other. So both are learnt from what happens.
#pragma once

#include <cstdint>

namespace millrace::pool {

class WakePlacement {
 public:
  // After how many sleeps in a row on its waker's CPU a thread sleeps apart though it was not pulled there.
  static constexpr int patience = 32;
  // A wake-up that takes longer than this waited for another program's time slice. A processor that sleeps is
  // awake after 5 us on bare metal and 20 to 200 where the hypervisor has to be asked; time slices are 1 to
  // 4 ms long.
  static constexpr std::int64_t slow_ns = 500'000;
  // A single one, of which a hypervisor that is busy itself makes one in a hundred, is outweighed by so many
  // that are not slow.
  static constexpr int slow_weight = 8;
  // So much more evidence is needed each time that another program was met, up to the most.
  static constexpr int hold_factor = 4;
  static constexpr int most_hold = 1024;
  // After so many sleeps apart in a row without meeting another program those met before are forgotten.
  static constexpr int forgotten_after = 64;

  // Asked before each sleep. `beside`: the thread is on its waker's CPU now. Whether to sleep apart from it.
  [[nodiscard]] bool sleeps_apart(bool beside);

  // Told after each sleep. `pulled`: it slept on another CPU than its waker and was woken on its waker's.
  // `took_ns`: from the wake-up to running; 0 if unknown.
  void woken(bool pulled, std::int64_t took_ns);

  // Told when another program took the CPU away from the thread after a sleep apart.
  void preempted();

 private:
  bool apart_ = false;
  int beside_ = 0;  // sleeps in a row beside the waker
  int pulled_ = 0;  // times that it was pulled since it last slept apart
  int hold_ = 1;    // how often the usual evidence it takes
  int alone_ = 0;   // sleeps apart in a row without meeting another program
  int slow_ = 0;    // slow wake-ups among them, weighted, less those outweighed
};

}  // namespace millrace::pool
