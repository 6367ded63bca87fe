// A program that makes (or wakes) threads for each pass and waits for them, on cores where a kernel, the
// program or a tool places the threads as they are born. Pure; what UDispatch+ measured on a quad core, for
// machines that have none.
#pragma once

#include <vector>

namespace millrace::model {

// One pass, in milliseconds of one core that nobody else uses.
struct ForkJoinWork {
  double serial_ms = 0;           // main alone, before it makes threads
  double birth_ms = 0;            // main, making one thread
  std::vector<double> thread_ms;  // what each does
};

enum class NewbornPlacement {
  // On the core of its maker, until an idle core looks for work: as it becomes idle, and at each balancing.
  // Kernels of the years before 2009 on cores without a common domain that balances at births.
  left_with_maker,
  on_idle_core,     // of its birth, where there is one: kernels of today; later as above
  bound_by_itself,  // begins with its maker, and moves to its own core once its first call has run there
  bound_at_birth,   // begins on its own core
};

struct NewbornCase {
  ForkJoinWork work;
  NewbornPlacement placement = NewbornPlacement::left_with_maker;
  int cores = 4;
  bool main_apart = false;   // main is on the last core, which threads take last, instead of on the first
  double balancing_ms = 4;   // an idle core looks for work so often; a kernel of 250 ticks a second
  double migration_ms = 0;   // more work of a thread that moves
  double first_call_ms = 0;  // of bound_by_itself: until it is through its first call
};

// Threads that share a core share its time evenly. Threads with cores of their own take these in turn. phase:
// 0 to 1, how far the time of a balancing has passed when the pass begins; the cores balance one after the
// other. Returns when all are done.
[[nodiscard]] double simulate_pass_ms(const NewbornCase& newborns, double phase);

// The mean over when balancing falls.
[[nodiscard]] double simulate_mean_pass_ms(const NewbornCase& newborns);

}  // namespace millrace::model
