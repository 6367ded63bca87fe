#include "millrace/stream/run/run_options.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

namespace millrace::stream {
namespace {

constexpr std::array<std::pair<Strategy, std::string_view>, 6> names{{
    {Strategy::pools, "pools"},
    {Strategy::oversubscribed, "oversubscribed"},
    {Strategy::collapsed, "collapsed"},
    {Strategy::stealing, "stealing"},
    {Strategy::tbb, "tbb"},
    {Strategy::auto_, "auto"},
}};
constexpr auto strategies = [] {
  std::array<Strategy, names.size()> result{};
  std::ranges::transform(names, result.begin(), [](const auto& entry) { return entry.first; });
  return result;
}();

}  // namespace

std::string_view strategy_name(Strategy strategy) {
  return std::ranges::find(names, strategy, [](const auto& entry) { return entry.first; })->second;
}

Result<Strategy> parse_strategy(std::string_view name) {
  std::vector<std::string_view> known;
  for (const auto& [strategy, known_name] : names) {
    if (name == known_name) return strategy;
    known.push_back(known_name);
  }
  return usage_error("'{}' is not a strategy; use one of {}", name, fmt::join(known, ", "));
}

std::span<const Strategy> all_strategies() { return strategies; }

int default_tokens(Strategy strategy, int threads, int stages, int queue_depth) {
  const auto at_most = [](std::int64_t tokens) {
    return static_cast<int>(std::min<std::int64_t>(tokens, most_tokens));
  };
  if (strategy == Strategy::tbb) return at_most(std::int64_t{4} * threads);
  if (strategy == Strategy::stealing || strategy == Strategy::auto_)
    return at_most(std::int64_t{16} * threads);
  return at_most(std::int64_t{stages} * (std::int64_t{queue_depth} + threads));
}

}  // namespace millrace::stream
