// For tests and benchmarks, which do not lie beside the kernel compiler: names that of their build, before
// main() begins. Programs for users must not know a path where others could put something else.
#include <cstdlib>

namespace {

// NOLINTNEXTLINE(concurrency-mt-unsafe): there are no threads yet
[[maybe_unused]] const int named = setenv("MILLRACE_KERNEL_COMPILER", MILLRACE_BUILT_KERNEL_COMPILER, 0);

}  // namespace
