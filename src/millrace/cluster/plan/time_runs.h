// Many times in few characters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::cluster {

// "0 40x24 41 40x3": the first time, then the steps from each to the next, repeated steps counted. Empty for
// no times.
[[nodiscard]] std::string to_time_runs(const std::vector<std::int64_t>& times);
// Nothing where the text is none, or holds more than `most` times.
[[nodiscard]] std::optional<std::vector<std::int64_t>> parse_time_runs(std::string_view text,
                                                                       std::size_t most);

}  // namespace millrace::cluster
