// How many files a part of the program may keep open, instead of opening them anew each time.
#pragma once

#include <algorithm>
#include <cstddef>

#include <sys/resource.h>

namespace millrace {

// `most`, or fewer where this process may have few files open (RLIMIT_NOFILE): four parts that keep so many
// leave some for files that are opened for a moment.
[[nodiscard]] inline std::size_t most_kept_files(std::size_t most) {
  constexpr rlim_t parts = 4;
  constexpr rlim_t for_moments = 24;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return most;
  return limit.rlim_cur <= for_moments ? 0 : std::min<rlim_t>(most, (limit.rlim_cur - for_moments) / parts);
}

}  // namespace millrace
