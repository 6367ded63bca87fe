// Where the threads of a run start that read and write its frames.
#pragma once

#include "millrace/machine/cpus/cpu_set.h"

#include <pthread.h>

namespace millrace::run {

// A thread starts on the CPUs of the one that makes it. The thread of a run is a worker, bound like one under
// most affinities; the threads that it makes for frames and codecs are not to be.
//
// Where the kernel refuses, they run where they may: slower perhaps, never wrong.
struct IoCpus {
  machine::CpuSet io;      // of the threads that read and write frames; empty: anywhere within `usable`
  machine::CpuSet usable;  // all that the process may use

  // Binds the calling thread for as long as it makes a thread that reads or writes frames: under an
  // AffinityGuard.
  void bind_for_io() const;
  // Binds one that reads or writes frames already, from its next frame on; it was not joined yet.
  void move_for_io(pthread_t thread) const;
  // The same for opening a codec, which makes threads of its own.
  void bind_for_codec() const;
};

}  // namespace millrace::run
