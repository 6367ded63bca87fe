// Chooses the CPUs on which a run's I/O and codec threads start.
#pragma once

#include "millrace/machine/cpus/cpu_set.h"

#include <pthread.h>

namespace millrace::run {

// A new thread inherits the CPUs of its creator. The run's own thread is a worker and pinned under most
// affinities; the frame and codec threads that it creates should not inherit that.
//
// If the kernel refuses, they run on inherited CPUs: perhaps slower, but never wrong.
struct IoCpus {
  machine::CpuSet io;      // CPUs of threads that read and write frames; empty: anywhere within `usable`
  machine::CpuSet usable;  // all CPUs that the process may use

  // Pins the calling thread while it creates an I/O thread. Use it under an AffinityGuard.
  void bind_for_io() const;
  // Moves an existing I/O thread, which must not be joined yet, from its next frame on.
  void move_for_io(pthread_t thread) const;
  // Pins the calling thread while it opens a codec, which creates threads of its own.
  void bind_for_codec() const;
};

}  // namespace millrace::run
