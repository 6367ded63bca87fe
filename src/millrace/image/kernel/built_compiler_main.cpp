// For tests and benchmarks, which are not installed next to the kernel compiler: sets the path to that of
// their build before main() begins. Installed programs must not contain a path where others could place a
// file.
#include <cstdlib>

namespace {

// NOLINTNEXTLINE(concurrency-mt-unsafe): there are no threads yet
[[maybe_unused]] const int named = setenv("MILLRACE_KERNEL_COMPILER", MILLRACE_BUILT_KERNEL_COMPILER, 0);

}  // namespace
