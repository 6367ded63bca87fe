// Run-length encoding of frame times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::cluster {

// "0 40x24 41 40x3": the first time, then the differences, with repeat counts. Empty without times.
[[nodiscard]] std::string to_time_runs(const std::vector<std::int64_t>& times);
// Empty if the text is invalid or has more than `most` times.
[[nodiscard]] std::optional<std::vector<std::int64_t>> parse_time_runs(std::string_view text,
                                                                       std::size_t most);

}  // namespace millrace::cluster
