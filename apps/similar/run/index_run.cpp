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

// A file to read, unless its features are known.
struct Named {
  ImageFile file;
  std::optional<IndexedImage> known;
};
// Output of the source: a file's bytes, or its known features.
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
  const auto name_next = [&]() -> std::optional<Named> {
    if (next == run.files.size()) return std::nullopt;
    ImageFile file = std::move(run.files[next++]);
    if (const auto found = known.find(file.name); found != known.end() &&
                                                  found->second->bytes == file.bytes &&
                                                  found->second->modified_ns == file.modified_ns)
      return Named{std::move(file), std::move(*found->second)};
    return Named{std::move(file), std::nullopt};
  };
  const auto read = [most = run.options.byte_budget](ImageFile file) {
    return read_stage(std::move(file), most);
  };
  const auto find_next = [&]() -> std::optional<Found> {
    std::optional<Named> named = name_next();
    if (!named) return std::nullopt;
    if (named->known) return Found{{.file = std::move(named->file)}, std::move(named->known)};
    return Found{read(std::move(named->file)), std::nullopt};
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
  const auto parallel_input = [&] {
    return stream::source("names", name_next,
                          {.bytes = [](const Named& named) { return listed_bytes(named.file); }})
        .stage<ImageFile>(Kind::parallel, "look up",
                          [to_store](Named named, stream::Output<ImageFile>& out) {
                            if (!named.known) return out.emit(std::move(named.file));
                            out.emit(to_store, {{.file = std::move(named.file)}, std::move(named.known)});
                          })
        .stage(Kind::parallel, "read", read, {.blocking = true, .blocking_threads = run.readers})
        .stage(Kind::parallel, "compute",
               [describe = DescribeStage()](Job<EncodedImage> job) {
                 return Described{describe(std::move(job)), std::nullopt};
               })
        .land(to_store)
        .sink(Kind::serial_in_order, "store", store);
  };
  const auto serial_input = [&] {
    return stream::source("read", find_next,
                          {.bytes = [](const Found& found) { return working_bytes(found.job); }})
        .stage<Job<EncodedImage>>(Kind::parallel, "look up",
                                  [to_store](Found found, stream::Output<Job<EncodedImage>>& out) {
                                    if (!found.known) return out.emit(std::move(found.job));
                                    out.emit(to_store,
                                             {{.file = std::move(found.job.file)}, std::move(found.known)});
                                  })
        .stage(Kind::parallel, "load", load_stage)
        .stage(Kind::parallel, "segment", segment_stage)
        .stage(Kind::parallel, "extract",
               [](Job<SegmentedImage> job) { return Described{extract_stage(std::move(job)), std::nullopt}; })
        .land(to_store)
        .sink(Kind::serial_in_order, "store", store);
  };
  auto flow = run.readers > 0 ? parallel_input() : serial_input();
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
