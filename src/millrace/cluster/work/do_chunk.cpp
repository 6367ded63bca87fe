#include "millrace/cluster/work/do_chunk.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/numbers/counted.h"
#include "millrace/cluster/work/chunk_reader.h"
#include "millrace/image/pipeline/presets.h"
#include "millrace/video/packet_index.h"
#include "millrace/video/reader.h"

#include <array>
#include <filesystem>
#include <unistd.h>
#include <utility>
#include <variant>

namespace millrace::cluster {
namespace {

run::VideoSource chunk_source(const JobPlan& plan, const ChunkCut& cut, const std::string& file,
                              ChunkReading& reading) {
  run::VideoSource source = run::file_source(file);
  const OpenReader open_whole = source.open;
  source.repeatable = false;
  source.open = [&plan, &reading, cut, open_whole](const video::ReaderOptions& given) {
    video::ReaderOptions options = given;
    options.side_streams = nullptr;  // joined once, at the end
    return open_chunk(plan, cut, open_whole, options, reading);
  };
  return source;
}

// Other users with write access to the folder must not be able to redirect writes to files elsewhere.
Status check_no_link(const std::string& folder, std::int64_t chunk) {
  std::error_code ignored;
  for (const std::string& name : {part_file(folder, chunk), record_file(folder, chunk)})
    if (std::filesystem::is_symlink(std::filesystem::symlink_status(name, ignored)))
      return usage_error("{}: is a link, and parts are not written through links; remove it", name);
  return {};
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

Status check_number(const JobPlan& plan, std::int64_t chunk) {
  if (chunk >= 0 && chunk < std::ssize(plan.chunks)) return {};
  return usage_error("there is no chunk {}; the plan has 0 to {}", chunk, plan.chunks.size() - 1);
}

Status check_same_input(const JobPlan& plan, const std::string& file) {
  if (plan.input_digest.empty()) return {};
  const auto content = sampled_digest_of_file(file);
  if (!content) return std::unexpected(content.error());
  if (content->bytes == plan.input_bytes && content->digest == plan.input_digest) return {};
  return failure("{}: is not the file that the plan was made of; make the plan again, or give --input", file);
}

Result<ChunkOutcome> do_chunk(const JobPlan& plan, std::int64_t chunk, run::ExecutionContext& context,
                              const ChunkOptions& options) {
  if (Status known = check_number(plan, chunk); !known) return std::unexpected(known.error());
  auto before = check_part(plan, options.folder, chunk, options.stop);
  if (!before) return std::unexpected(before.error());
  if (before->state == PartState::good)
    return ChunkOutcome{.skipped = true, .part = std::move(before->record)};

  if (Status own = check_no_link(options.folder, chunk); !own) return std::unexpected(own.error());
  const std::string input = options.input.empty() ? plan.input : options.input;
  if (Status same = check_same_input(plan, input); !same) return std::unexpected(same.error());
  const std::int64_t start = now_ns();
  const ChunkCut& cut = plan.chunks[static_cast<std::size_t>(chunk)];
  const std::string file = part_file(options.folder, chunk);
  run::RunOptions words = plan.options;
  words.input = input;
  words.output = file;
  words.force = true;
  words.threads = options.threads;
  words.no_profile = options.no_profile;
  words.shared = options.shared;
  const auto pipeline = image::load_pipeline(words.pipeline, options.stop);
  if (!pipeline) return std::unexpected(pipeline.error());
  const auto planes = planes_of(words);
  if (!planes) return std::unexpected(planes.error());
  auto run_options = run::video_run_options_of(words, *pipeline, context.machine().usable.worker_limit);
  if (!run_options) return std::unexpected(run_options.error());
  run_options->planes = *planes;
  // Later chunks inherit this chunk's findings.
  if (auto* const search = std::get_if<run::SearchOptions>(&run_options->schedule);
      search != nullptr && !options.no_profile)
    search->frames_after = plan.frames - cut.first - cut.frames;
  run_options->first_frame = cut.first;
  run_options->around = {.before = static_cast<int>(cut.before), .after = static_cast<int>(cut.after)};
  run_options->writer.reproducible = true;
  run_options->stop = options.stop;
  run_options->keep_part = false;
  if (options.on_progress)
    run_options->on_progress = [&options](const run::RunProgress& progress, const image::Schedule&) {
      options.on_progress(progress);
    };

  ChunkReading reading;
  run::VideoRun video(context, chunk_source(plan, cut, input, reading), run::file_sink(file),
                      *std::move(run_options));
  if (Status done = video.run(); !done)
    return std::unexpected(
        Error{done.error().kind, fmt::format("chunk {}: {}", chunk, done.error().message)});
  // Read the file back, so that the record describes what is really there.
  const auto written = video::index_packets(file, options.stop);
  if (!written) return std::unexpected(written.error());
  if (std::ssize(written->packets) != cut.frames)
    return failure("chunk {}: {} holds {}, not {}", chunk, file, counted(written->packets.size(), "frame"),
                   cut.frames);
  const auto content = digest_of_file(file, options.stop);
  if (!content) return std::unexpected(content.error());
  ChunkOutcome outcome{.part = {.plan = plan.id,
                                .chunk = chunk,
                                .frames = cut.frames,
                                .decoded = reading.decoded,
                                .decoded_from = std::string(name_of(reading.from)),
                                .machine = host_name(),
                                .seconds = seconds(now_ns() - start),
                                .content = *content},
                       .run = video.record()};
  if (Status recorded = write_record(outcome.part, options.folder); !recorded)
    return std::unexpected(recorded.error());
  return outcome;
}

}  // namespace millrace::cluster
