// Times as people write them.
#pragma once

#include "millrace/base/result.h"

#include <cstdint>
#include <string_view>

namespace millrace::video {

// "12.5" seconds, "1:30" or "0:01:30.25": microseconds, not negative, less than 100 years. A usage error that
// calls the time `name`.
[[nodiscard]] Result<std::int64_t> parse_clip_time(std::string_view text, std::string_view name);

}  // namespace millrace::video
