#include "similar/run/index_run.h"

#include "millrace/stream/flow.h"
#include "similar/run/photo_stages.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace millrace::similar {
namespace {

using stream::Kind;

// What the source makes of a file: its bytes, or what is known of it.
struct Found {
  Job<EncodedImage> job;
  std::optional<IndexedImage> known;
};
struct Described {
  Job<std::vector<Region>> job;
  std::optional<IndexedImage> known;
};

IndexedImage indexed(Job<std::vector<Region>> job) {
  return {std::move(job.file.name), job.file.bytes, job.file.modified_ns, std::move(*job.value)};
}

}  // namespace

IndexOutcome run_index(IndexRun run, pool::Team& team) {
  IndexOutcome outcome{.status = {}, .index = ImageIndex(run.folder), .report = {}};
  std::map<std::string, IndexedImage*> known;
  for (IndexedImage& image : run.known)
    known[image.name] = &image;

  std::size_t next = 0;
  std::size_t done = 0;
  const auto find_next = [&]() -> std::optional<Found> {
    if (next == run.files.size()) return std::nullopt;
    ImageFile file = std::move(run.files[next++]);
    if (const auto found = known.find(file.name); found != known.end() &&
                                                  found->second->bytes == file.bytes &&
                                                  found->second->modified_ns == file.modified_ns)
      return Found{{.file = std::move(file)}, std::move(*found->second)};
    return Found{read_stage(std::move(file), run.options.byte_budget), std::nullopt};
  };
  const auto store = [&](Described described) -> Status {
    run.on_progress(++done);
    if (described.known) {
      ++outcome.reused;
      return outcome.index.add(std::move(*described.known));
    }
    if (!described.job.value) {
      ++outcome.unreadable;
      run.on_unreadable(described.job.error);
      return {};
    }
    IndexedImage image = indexed(std::move(described.job));
    if (run.journal != nullptr)
      if (Status noted = run.journal->append(image); !noted) return noted;
    return outcome.index.add(std::move(image));
  };

  const stream::Port<Described> to_store("to store");
  auto flow = stream::source("read", find_next,
                             {.bytes = [](const Found& found) { return working_bytes(found.job); }})
                  .stage<Job<EncodedImage>>(
                      Kind::parallel, "look up",
                      [to_store](Found found, stream::Output<Job<EncodedImage>>& out) {
                        if (!found.known) return out.emit(std::move(found.job));
                        out.emit(to_store, {{.file = std::move(found.job.file)}, std::move(found.known)});
                      })
                  .stage(Kind::parallel, "load", load_stage)
                  .stage(Kind::parallel, "segment", segment_stage)
                  .stage(Kind::parallel, "extract",
                         [](Job<SegmentedImage> job) {
                           return Described{extract_stage(std::move(job)), std::nullopt};
                         })
                  .land(to_store)
                  .sink(Kind::serial_in_order, "store", store);
  if (!flow) {
    outcome.status = std::unexpected(flow.error());
    return outcome;
  }
  stream::Finished finished = flow->run(team, run.options);
  outcome.status = std::move(finished.status);
  outcome.report = std::move(finished.report);
  return outcome;
}

}  // namespace millrace::similar
