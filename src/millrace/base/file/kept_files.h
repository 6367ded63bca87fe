// Limits how many files a component keeps open for reuse.
#pragma once

#include <algorithm>
#include <cstddef>

#include <sys/resource.h>

namespace millrace {

// Returns `most`, or fewer if RLIMIT_NOFILE is low. Four components with this many open files still leave
// some for short-lived ones.
[[nodiscard]] inline std::size_t most_kept_files(std::size_t most) {
  constexpr rlim_t parts = 4;
  constexpr rlim_t for_moments = 24;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return most;
  return limit.rlim_cur <= for_moments ? 0 : std::min<rlim_t>(most, (limit.rlim_cur - for_moments) / parts);
}

}  // namespace millrace
