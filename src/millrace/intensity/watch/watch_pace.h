// Chooses how often threads are sampled, so that the overhead is negligible for them and the watcher.
#pragma once

namespace millrace::intensity {

// Samples per second of a thread's CPU time: 97, a prime, so that they do not synchronise with periodic work.
// Fewer if so many CPUs (>= 1) compute at one time that all samples together would take more than 0.5 % of a
// CPU.
[[nodiscard]] int samples_for_each_second(int cpus);

// The share of the time in which threads are sampled, 0 to 1. A switch between sampled threads takes two
// microseconds longer. Above 2000 switches per second of CPU time, the share is reduced so that this overhead
// stays below 0.5 %.
[[nodiscard]] double share_of_time(double switches_for_each_cpu_second);

}  // namespace millrace::intensity
