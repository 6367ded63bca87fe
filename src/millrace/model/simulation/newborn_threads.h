// Simulates a program that creates (or wakes) threads for each pass and joins them. A kernel, the program or
// a tool places the threads at birth. Pure. Reproduces the quad-core measurements of UDispatch+ for machines
// that have no such data.
#pragma once

#include <vector>

namespace millrace::model {

// One pass, in milliseconds on an otherwise idle core.
struct ForkJoinWork {
  double serial_ms = 0;           // main alone, before it creates threads
  double birth_ms = 0;            // main, per created thread
  std::vector<double> thread_ms;  // work of each thread
};

enum class NewbornPlacement {
  // On the creator's core, until an idle core looks for work: when it becomes idle, and at each balancing.
  // Kernels before 2009 do this on cores without a common domain that balances at births.
  left_with_maker,
  on_idle_core,     // on an idle core at birth, if there is one: today's kernels; later as above
  bound_by_itself,  // starts with its creator and moves to its own core after its first call has run there
  bound_at_birth,   // starts on its own core
};

struct NewbornCase {
  ForkJoinWork work;
  NewbornPlacement placement = NewbornPlacement::left_with_maker;
  int cores = 4;
  bool main_apart = false;  // main is on the last core, which threads take last, instead of on the first
  double balancing_ms =
      4;  // interval at which an idle core looks for work; from a kernel with 250 ticks per second
  double migration_ms = 0;   // extra work of a thread that moves
  double first_call_ms = 0;  // of bound_by_itself: until its first call has finished
};

// Threads that share a core share its time evenly. Threads with their own cores take these in turn. phase: 0
// to 1, the elapsed share of a balancing interval when the pass begins. The cores balance one after the
// other. Returns the time when all threads are done.
[[nodiscard]] double simulate_pass_ms(const NewbornCase& newborns, double phase);

// The mean over all phases of the balancing.
[[nodiscard]] double simulate_mean_pass_ms(const NewbornCase& newborns);

}  // namespace millrace::model
