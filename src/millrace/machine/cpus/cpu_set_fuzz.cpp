// Any text is either rejected, or parsed into a set that prints and parses back to itself.
#include "millrace/machine/cpus/cpu_set.h"

#include <cstdlib>

// libFuzzer defines the name. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using millrace::machine::CpuSet;
  const auto cpus = CpuSet::parse({reinterpret_cast<const char*>(data), size});
  if (!cpus) return 0;
  if (CpuSet::parse(cpus->to_string()) != *cpus) std::abort();
  int members = 0;
  for (const int cpu : *cpus)
    members += cpus->contains(cpu) ? 1 : 0;
  if (members != cpus->count()) std::abort();
  return 0;
}
