#include "millrace/cluster/work/join_parts.h"

#include "millrace/cluster/work/do_chunk.h"
#include "millrace/cluster/work/make_plan.h"
#include "millrace/cluster/work/part.h"
#include "millrace/video/reader.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include <fmt/ranges.h>

namespace millrace::cluster {
namespace {

Status check_parts(const JobPlan& plan, const JoinPartsOptions& options) {
  std::vector<std::int64_t> missing;
  std::vector<std::int64_t> unusable;
  bool other_plan = false;
  for (std::int64_t chunk = 0; chunk < std::ssize(plan.chunks); ++chunk) {
    const auto part = check_part(plan, options.folder, chunk, options.stop);
    if (!part) return std::unexpected(part.error());
    if (part->state == PartState::missing) missing.push_back(chunk);
    if (part->state == PartState::damaged || part->state == PartState::other_plan) unusable.push_back(chunk);
    other_plan = other_plan || part->state == PartState::other_plan;
  }
  if (missing.empty() && unusable.empty()) return {};
  std::vector<std::int64_t> to_do = missing;
  to_do.insert(to_do.end(), unusable.begin(), unusable.end());
  std::ranges::sort(to_do);
  std::string why;
  if (!missing.empty()) why = fmt::format("{} missing", missing.size());
  if (!unusable.empty())
    why += fmt::format("{}{} {}", why.empty() ? "" : ", ", unusable.size(),
                       other_plan ? "of another plan" : "damaged");
  constexpr std::size_t most_named = 20;
  const std::size_t named = std::min(most_named, to_do.size());
  return std::unexpected(
      Error{ErrorKind::incomplete,
            fmt::format("{}: of {} parts {}; do chunk{} {}{}: millrace chunk PLAN {}{} -o {}", options.folder,
                        plan.chunks.size(), why, to_do.size() == 1 ? "" : "s",
                        fmt::join(std::span(to_do).first(named), ", "), named < to_do.size() ? ", ..." : "",
                        fmt::join(std::span(to_do).first(named), " "), named < to_do.size() ? " ..." : "",
                        options.folder)});
}

}  // namespace

Result<video::JoinedFile> join_parts(const JobPlan& plan, const JoinPartsOptions& options) {
  const std::string input = options.input.empty() ? plan.input : options.input;
  if (is_part_name(options.output, plan, options.folder))
    return usage_error("{}: is one of the parts; choose another output", options.output);
  if (Status joinable = video::check_joined_name(options.output); !joinable)
    return std::unexpected(joinable.error());
  if (Status whole = check_parts(plan, options); !whole) return std::unexpected(whole.error());
  if (Status same = check_same_input(plan, input); !same) return std::unexpected(same.error());
  if (options.check_output)
    if (Status possible = options.check_output(); !possible) return std::unexpected(possible.error());
  run::RunOptions words = plan.options;
  words.input = input;
  const auto job = look_at_input(words, options.stop);
  if (!job) return std::unexpected(job.error());

  video::JoinedVideo joined{.format = job->output,
                            .shift = plan.shift(),
                            .last_duration = plan.last_duration,
                            .properties = job->properties};
  for (std::int64_t chunk = 0; chunk < std::ssize(plan.chunks); ++chunk)
    joined.parts.push_back(
        {part_file(options.folder, chunk), plan.chunks[static_cast<std::size_t>(chunk)].frames});
  joined.times = plan.times;
  if (plan.has_times()) {
    for (std::int64_t& time : joined.times)
      time += plan.shift();
  } else {
    joined.times.resize(static_cast<std::size_t>(plan.frames));
    std::iota(joined.times.begin(), joined.times.end(), 0);
  }
  // Input from many files, or from none, has no other streams or properties.
  std::error_code ignored;
  if (video::is_coded_input(input) && std::filesystem::is_regular_file(input, ignored))
    joined.side_file = input;
  joined.audio = !plan.options.no_audio;
  return video::join_videos(joined, options.output, {.overwrite = options.overwrite, .stop = options.stop});
}

}  // namespace millrace::cluster
