// How often threads are sampled, so that neither they nor the watcher notice it.
#pragma once

namespace millrace::intensity {

// Samples in each second that a thread computes: 97, a number that keeps no time with anything; fewer where
// so many CPUs (>= 1) compute at once that all samples together would take more than half a hundredth of a
// CPU.
[[nodiscard]] int samples_for_each_second(int cpus);

// The share of the time that threads are sampled, 0 to 1. A switch from one sampled thread to another takes
// two microseconds longer: of more than two thousand in a second of CPU time so few are let happen that they
// take half a hundredth of it.
[[nodiscard]] double share_of_time(double switches_for_each_cpu_second);

}  // namespace millrace::intensity
