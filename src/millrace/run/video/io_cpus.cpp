#include "millrace/run/video/io_cpus.h"

#include "millrace/machine/thread/thread_affinity.h"

#include <tuple>

namespace millrace::run {
namespace {

// Avoids a system call if the affinity is already right.
void bind(const machine::CpuSet& cpus) {
  const auto now = machine::current_thread_affinity();
  if (cpus.empty() || (now && *now == cpus)) return;
  std::ignore = machine::bind_current_thread(cpus);
}

}  // namespace

void IoCpus::bind_for_io() const { bind(io.empty() ? usable : io); }

void IoCpus::move_for_io(pthread_t thread) const {
  machine::bind_unjoined_thread(thread, io.empty() ? usable : io);
}

void IoCpus::bind_for_codec() const { bind(usable); }

}  // namespace millrace::run
