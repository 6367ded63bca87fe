#include "similar/run/query_run.h"

#include "millrace/stream/flow.h"
#include "similar/run/photo_stages.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace millrace::similar {
namespace {

using stream::Kind;

// Neighbours per region, enough that the best images are among their owners.
std::size_t neighbours_for(std::size_t top) { return std::max(2 * top, std::size_t{20}); }

struct Candidates {
  std::vector<Region> regions;
  std::vector<std::uint32_t> images;
};
struct Ranked {
  std::size_t regions = 0;
  std::size_t candidates = 0;
  std::vector<Answer> answers;
};

}  // namespace

stream::Finished run_query(const ImageIndex& index, QueryRun run, pool::Team& team) {
  std::size_t next = 0;
  const std::size_t most_bytes =
      run.sized ? run.options.byte_budget : std::numeric_limits<std::size_t>::max();
  const auto read_next = [&]() -> std::optional<Job<EncodedImage>> {
    if (next == run.files.size()) return std::nullopt;
    return read_stage(std::move(run.files[next++]), most_bytes);
  };
  const auto look_up = [&](std::vector<Region> regions) {
    auto images = index.candidates(regions, neighbours_for(run.top));
    return Candidates{std::move(regions), std::move(images)};
  };
  const auto rank = [&](const Candidates& found) {
    Ranked ranked{found.regions.size(), found.images.size(),
                  index.rank(found.regions, found.images, run.top, run.options.stop)};
    std::erase_if(ranked.answers, [&](const Answer& answer) { return answer.distance > run.farthest; });
    return ranked;
  };
  const auto output = [&](Job<Ranked> job) -> Status {
    QueryAnswer answer{.path = std::move(job.file.path), .answers = {}};
    if (job.value) {
      answer.regions = job.value->regions;
      answer.candidates = job.value->candidates;
      answer.answers = std::move(job.value->answers);
    } else {
      answer.answers = std::unexpected(std::move(job.error));
    }
    return run.on_answer(std::move(answer));
  };

  if (run.readers > 0) {
    const auto name_next = [&]() -> std::optional<ImageFile> {
      if (next == run.files.size()) return std::nullopt;
      return std::move(run.files[next++]);
    };
    const auto compute = [&, describe = DescribeStage()](Job<EncodedImage> job) {
      return next_job(next_job(describe(std::move(job)), look_up), rank);
    };
    stream::SourceOptions<ImageFile> names;
    if (run.sized) names.bytes = listed_bytes;
    auto flow = stream::source("names", name_next, std::move(names))
                    .stage(Kind::parallel, "read",
                           [&](ImageFile file) { return read_stage(std::move(file), most_bytes); },
                           {.blocking = true, .blocking_threads = run.readers})
                    .stage(Kind::parallel, "compute", compute)
                    .sink(Kind::serial_in_order, "output", output);
    if (!flow) return {.status = std::unexpected(flow.error()), .report = {}};
    return flow->run(team, run.options);
  }
  stream::SourceOptions<Job<EncodedImage>> source_options;
  if (run.sized) source_options.bytes = working_bytes;
  auto flow =
      stream::source("read", read_next, std::move(source_options))
          .stage(Kind::parallel, "load", load_stage)
          .stage(Kind::parallel, "segment", segment_stage)
          .stage(Kind::parallel, "extract", extract_stage)
          .stage(Kind::parallel, "look up",
                 [&](Job<std::vector<Region>> job) { return next_job(std::move(job), look_up); })
          .stage(Kind::parallel, "rank", [&](Job<Candidates> job) { return next_job(std::move(job), rank); })
          .sink(Kind::serial_in_order, "output", output);
  if (!flow) return {.status = std::unexpected(flow.error()), .report = {}};
  return flow->run(team, run.options);
}

}  // namespace millrace::similar
