#include "millrace/cli/model/pipeline_source.h"

#include "millrace/base/quoted.h"
#include "millrace/base/system_reason.h"
#include "millrace/model/pipeline/duration_text.h"
#include "millrace/model/pipeline/pipeline_text.h"
#include "millrace/model/pipeline/pipeline_toml.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>

namespace millrace::cli {
namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 20U;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }  // opened for reading: nothing to lose
};

std::unexpected<Error> cannot_read(const std::string& path, int error_number) {
  return usage_error("cannot read {}: {}", path, system_reason(error_number));
}

std::unexpected<Error> no_count(std::string_view text) {
  return usage_error("{} is no number of threads; write 4, 1,2,8 or 1..64, each from 1 to 1024",
                     quoted(text));
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

Result<std::string> read_text_file(const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rbe"));
  if (!file) return cannot_read(path, errno);
  std::string text;
  std::string part(std::size_t{1} << 16U, '\0');
  while (const std::size_t read = std::fread(part.data(), 1, part.size(), file.get())) {
    text.append(part, 0, read);
    if (text.size() > most_bytes)
      return usage_error("{} is larger than the {} bytes allowed; is it the right file?", path, most_bytes);
  }
  if (std::ferror(file.get()) != 0) return cannot_read(path, errno);
  return text;
}

Result<model::Pipeline> pipeline_of(const std::string& text_or_file) {
  if (!text_or_file.ends_with(".toml")) return model::parse_pipeline_text(text_or_file);
  const auto text = read_text_file(text_or_file);
  if (!text) return std::unexpected(text.error());
  return model::parse_pipeline_toml(*text, text_or_file);
}

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
