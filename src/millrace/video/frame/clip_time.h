// Parses times on the command line.
#pragma once

#include "millrace/base/error/result.h"

#include <cstdint>
#include <string_view>

namespace millrace::video {

// Returns the microseconds of "12.5" (seconds), "1:30" or "0:01:30.25": not negative, less than 100 years.
// Fails with a usage error that calls the time `name`.
[[nodiscard]] Result<std::int64_t> parse_clip_time(std::string_view text, std::string_view name);

}  // namespace millrace::video
