#include "millrace/cli/exec/tight_limits.h"

#include <string_view>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/resource.h>

namespace millrace::cli {
namespace {

struct Need {
  int limit;
  rlim_t least;
  unsigned shift;  // binary exponent of the displayed unit
  std::string_view what;
};

// At least twice millrace's own needs, so that some is left for the program.
constexpr unsigned mib = 20;
constexpr unsigned kib = 10;
constexpr Need needs[] = {{RLIMIT_AS, rlim_t{40} << mib, mib, "MiB of address space"},
                          {RLIMIT_DATA, rlim_t{8} << mib, mib, "MiB of data"},
                          {RLIMIT_STACK, rlim_t{128} << kib, kib, "KiB of stack"},
                          {RLIMIT_NOFILE, 24, 0, "open files"}};

// Millrace uses four of the processes and threads that the user may have. Root is not limited.
constexpr rlim_t least_processes = 32;

}  // namespace

std::string too_little_to_follow() {
  rlimit found{};
  for (const Need& need : needs)
    if (getrlimit(static_cast<__rlimit_resource>(need.limit), &found) == 0 && found.rlim_cur < need.least)
      return fmt::format("{} {}", found.rlim_cur >> need.shift, need.what);
  if (getuid() != 0 && getrlimit(RLIMIT_NPROC, &found) == 0 && found.rlim_cur < least_processes)
    return fmt::format("{} processes and threads", found.rlim_cur);
  return "";
}

int program_in(int count, char** arguments) {
  for (int i = 2; i + 1 < count; ++i)
    if (std::string_view(arguments[i]) == "--") return i + 1;
  return 0;
}

}  // namespace millrace::cli
