#include "millrace/cli/model/pipeline_source.h"

#include "millrace/base/file/whole_file.h"
#include "millrace/base/text/in_quotes.h"
#include "millrace/model/pipeline/duration_text.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace millrace::cli {
namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 20U;

std::unexpected<Error> no_count(std::string_view text) {
  return usage_error("--threads: {} is not a list of numbers; write 4, 1,2,8 or 1..64, each from 1 to 1024",
                     in_quotes(text));
}

Status add_part(std::string_view part, std::vector<int>& counts) {
  const std::size_t dots = part.find("..");
  const auto count = [](std::string_view text) {
    const auto value = model::parse_count(text);
    return value && *value >= 1 && *value <= 1024 ? value : std::nullopt;
  };
  if (dots == std::string_view::npos) {
    const auto value = count(part);
    if (!value) return no_count(part);
    counts.push_back(*value);
    return {};
  }
  std::string_view end = part.substr(dots + 2);
  std::optional<int> step;
  if (const std::size_t slash = end.find('/'); slash != std::string_view::npos) {
    step = count(end.substr(slash + 1));
    if (!step) return no_count(part);
    end = end.substr(0, slash);
  }
  const auto first = count(part.substr(0, dots));
  const auto last = count(end);
  if (!first || !last || *first > *last) return no_count(part);
  for (int value = *first; value < *last; value = step ? value + *step : 2 * value)
    counts.push_back(value);
  counts.push_back(*last);
  return {};
}

}  // namespace

Result<std::string> read_text_file(const std::string& path) { return read_text(path, most_bytes); }

Result<std::vector<int>> counts_of(const std::string& text) {
  std::vector<int> counts;
  std::string_view rest = text;
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    more = comma != std::string_view::npos;
    if (const Status added = add_part(rest.substr(0, comma), counts); !added)
      return std::unexpected(added.error());
    if (more) rest.remove_prefix(comma + 1);
  }
  std::ranges::sort(counts);
  const auto repeated = std::ranges::unique(counts);
  counts.erase(repeated.begin(), repeated.end());
  return counts;
}

}  // namespace millrace::cli
