#include "millrace/cluster/plan/time_runs.h"

#include "millrace/base/text/parse_number.h"

#include <limits>

#include <fmt/format.h>

namespace millrace::cluster {

std::string to_time_runs(const std::vector<std::int64_t>& times) {
  if (times.empty()) return "";
  std::string text = fmt::format("{}", times.front());
  for (std::size_t i = 1; i < times.size();) {
    const std::int64_t step = times[i] - times[i - 1];
    std::size_t end = i + 1;
    while (end < times.size() && times[end] - times[end - 1] == step)
      ++end;
    text += end - i > 1 ? fmt::format(" {}x{}", step, end - i) : fmt::format(" {}", step);
    i = end;
  }
  return text;
}

std::optional<std::vector<std::int64_t>> parse_time_runs(std::string_view text, std::size_t most) {
  std::vector<std::int64_t> times;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const std::size_t cross = word.find('x');
    const auto step = parse_number<std::int64_t>(word.substr(0, cross));
    const auto count = cross == std::string_view::npos ? std::optional<std::int64_t>(1)
                                                       : parse_number<std::int64_t>(word.substr(cross + 1));
    if (!step || !count || *count < 1 || static_cast<std::size_t>(*count) > most - times.size())
      return std::nullopt;
    if (times.empty() && cross != std::string_view::npos) return std::nullopt;
    for (std::int64_t i = 0; i < *count; ++i) {
      std::int64_t next = *step;
      if (!times.empty() && __builtin_add_overflow(times.back(), *step, &next)) return std::nullopt;
      times.push_back(next);
    }
  }
  return times;
}

}  // namespace millrace::cluster
