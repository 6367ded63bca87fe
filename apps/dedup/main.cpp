// millrace-dedup: packs a stream without its duplicates, and restores it.
#include "dedup/archive/archive_info.h"
#include "dedup/run/folder_stream.h"
#include "dedup/run/restore_part.h"
#include "dedup/run/summary.h"
#include "millrace/base/descriptor/ignore_write_signals.h"
#include "millrace/base/error/clock.h"
#include "millrace/base/file/check_outputs.h"
#include "millrace/base/file/input_file.h"
#include "millrace/base/file/json_file.h"
#include "millrace/base/file/output_file.h"
#include "millrace/base/file/with_holes.h"
#include "millrace/base/options/command_line.h"
#include "millrace/base/options/progress_line.h"
#include "millrace/base/process/interrupt.h"
#include "millrace/base/process/run_guarded.h"
#include "millrace/base/text/byte_count.h"
#include "millrace/base/text/error_line.h"
#include "millrace/base/text/print.h"
#include "millrace/machine/limits/usable_cpus.h"
#include "millrace/machine/thread/thread_affinity.h"
#include "millrace/pool/worker_pool.h"
#include "millrace/stream/run/run_report_json.h"
#include "millrace/version.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace {

using namespace millrace;
using namespace millrace::dedup;

struct Arguments {
  std::string input;
  std::string output;
  bool force = false;
  std::string compression = "zstd";
  std::optional<int> level;
  std::size_t average_chunk = default_average_chunk;
  std::string strategy = "auto";
  int threads = 0;
  int tokens = 0;
  std::size_t memory = std::size_t{256} << 20;
  std::optional<std::size_t> window;
  std::optional<std::uint64_t> limit;
  int writers = 0;
  std::optional<std::uint64_t> from;  // of the part to restore
  std::optional<std::uint64_t> bytes;
  std::string trace;
  std::string json;
  bool quiet = false;
};

constexpr std::string_view program_name = "millrace-dedup";

using Action = std::function<Status()>;

Result<stream::RunOptions> run_options(const Arguments& a, const Interrupt& interrupt) {
  const auto strategy = stream::parse_strategy(a.strategy);
  if (!strategy) return std::unexpected(strategy.error());
  stream::RunOptions options{.strategy = *strategy,
                             .threads = a.threads,
                             .tokens = a.tokens,
                             .byte_budget = a.memory,
                             .trace = a.trace.empty() ? stream::Trace::summary : stream::Trace::events,
                             .stop = interrupt.token()};
  if (options.threads == 0) {
    const auto cpus = machine::current_thread_affinity();
    if (!cpus) return std::unexpected(cpus.error());
    const auto usable = machine::usable_cpus(*cpus);
    if (!usable) return std::unexpected(usable.error());
    options.threads = usable->worker_limit;
  }
  return options;
}

Result<std::unique_ptr<InputFile>> open_input(const Arguments& a, const Interrupt& interrupt) {
  return InputFile::open(a.input, {.directory = "give an archive"}, interrupt.token());
}

// The input of pack: a file, a pipe, or a folder.
struct PackInput {
  std::unique_ptr<InputFile> file;
  std::unique_ptr<FolderStream> folder;

  [[nodiscard]] InputFile& bytes() const { return folder ? folder->bytes() : *file; }
  [[nodiscard]] Status finish() const { return folder ? folder->finish() : Status(); }
};

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return path != "-" && std::filesystem::is_directory(path, ignored);
}

// Refuses an archive inside the packed folder, which would contain itself.
Status check_is_outside(const std::string& folder, const std::string& output) {
  std::error_code ignored;
  const auto inside = std::filesystem::weakly_canonical(output, ignored)
                          .lexically_relative(std::filesystem::weakly_canonical(folder, ignored));
  if (output == "-" || inside.empty() || *inside.begin() == "..") return {};
  return usage_error("{} is in the folder that is packed; choose another folder for it", output);
}

Result<PackInput> open_pack_input(const Arguments& a, const Interrupt& interrupt) {
  PackInput input;
  if (!is_folder(a.input)) {
    auto file = open_input(a, interrupt);
    if (!file) return std::unexpected(file.error());
    input.file = std::move(*file);
    return input;
  }
  if (Status outside = check_is_outside(a.input, a.output); !outside) return std::unexpected(outside.error());
  auto folder = FolderStream::open(a.input, interrupt.token());
  if (!folder) return std::unexpected(folder.error());
  input.folder = std::move(*folder);
  return input;
}

Result<std::unique_ptr<OutputFile>> open_output(const Arguments& a, const Interrupt& interrupt) {
  return OutputFile::open(a.output, {.overwrite = overwrite_if(a.force)}, interrupt.token());
}

// Shows how many of `total` bytes are done.
std::function<void(std::uint64_t)> shown_by(ProgressLine& line, std::optional<std::uint64_t> total) {
  return [&line, total](std::uint64_t done) { line.update(static_cast<std::int64_t>(done), total); };
}

// Refuses outputs that exist, that collide, or that are the input.
Status check_outputs_of(const Arguments& a) {
  return check_outputs({{"OUT", a.output}, {"--json", a.json}, {"--trace", a.trace}}, overwrite_if(a.force),
                       {{"IN", a.input}});
}

// Result of a run. Writes the reports if it succeeded.
template <class Outcome>
Status report(const Arguments& a, const Outcome& outcome, const std::string& text,
              const nlohmann::ordered_json& json) {
  if (outcome.status && !a.quiet) print_note("{}", text);
  if (!outcome.status) {
    if (outcome.status.error().kind != ErrorKind::interrupted) return outcome.status;
    return std::unexpected(Error{
        ErrorKind::interrupted,
        fmt::format(
            "interrupted after {} of the stream{}", bytes_text(static_cast<double>(outcome.stream_bytes)),
            a.output.empty() || a.output == "-" ? "" : fmt::format("; {} was not written", a.output))});
  }
  if constexpr (requires { outcome.run; }) {
    if (!a.trace.empty())
      if (Status written = write_json(stream::chrome_trace(outcome.run), a.trace, overwrite_if(a.force));
          !written)
        return written;
  }
  if (!a.json.empty())
    if (Status written = write_json(json, a.json, overwrite_if(a.force)); !written) return written;
  return {};
}

// Search distance for short copies: at most half of the memory.
Result<std::size_t> window_of(const Arguments& a) {
  if (!a.window) return std::min(default_window, std::bit_floor(a.memory / 2));
  constexpr std::size_t largest = std::size_t{1} << 30;
  if (*a.window != 0 && (!std::has_single_bit(*a.window) || *a.window > largest))
    return usage_error("--window: {} is not a power of two up to {}, or 0; give one", *a.window, largest);
  if (*a.window > a.memory / 2)
    return usage_error("--window {} is more than half of the --memory {}; give --memory {} or more",
                       *a.window, a.memory, 2 * *a.window);
  return *a.window;
}

Status run_pack(const Arguments& a, const Interrupt& interrupt) {
  const std::int64_t start = now_ns();
  if (Status checked = check_outputs_of(a); !checked) return checked;
  const auto method = parse_method(a.compression);
  if (!method) return std::unexpected(method.error());
  const auto compression = Compression::of(*method, a.level);
  if (!compression) return std::unexpected(compression.error());
  const auto chunks = ChunkSizes::around(a.average_chunk);
  if (!chunks) return std::unexpected(chunks.error());
  const auto window = window_of(a);
  if (!window) return std::unexpected(window.error());
  if (a.output == "-" && isatty(STDOUT_FILENO) == 1)
    return usage_error("cannot write an archive to a terminal; give a file, or redirect standard output");

  auto run = run_options(a, interrupt);
  if (!run) return std::unexpected(run.error());
  run->byte_budget -= *window + *window / 16;  // and the table of marks
  const auto input = open_pack_input(a, interrupt);
  if (!input) return std::unexpected(input.error());
  InputFile& bytes = input->bytes();
  const auto output = open_output(a, interrupt);
  if (!output) return std::unexpected(output.error());
  if (a.writers > 0 && !(*output)->can_read_back())
    return usage_error(
        "--writers {}: {} is written in order, from its beginning to its end; give OUT as a file, or leave "
        "--writers out",
        a.writers, (*output)->name());
  const auto pool = pool::WorkerPool::create(run->threads);
  if (!pool) return std::unexpected(pool.error());
  auto team = (*pool)->team();

  ProgressLine progress(!a.quiet, progress_in_bytes);
  PackOutcome outcome = pack(
      bytes, **output, team,
      {.compression = *compression,
       .chunks = *chunks,
       .window = *window,
       .run = *run,
       .source_waits = !bytes.is_regular(),
       .sink_waits = !(*output)->is_regular(),
       .writers = a.writers,
       .write_at = [&output](std::uint64_t offset,
                             std::span<const std::byte> bytes) { return (*output)->write_at(offset, bytes); },
       .progress = shown_by(progress, bytes.remaining())});
  if (outcome.status) outcome.status = input->finish();
  if (outcome.status) outcome.status = (*output)->commit();
  progress.clear();
  const double elapsed = seconds(now_ns() - start);
  return report(a, outcome, to_text(outcome, elapsed), to_json(outcome, elapsed));
}

// Destination of restored bytes; runs of zeros become holes in a file.
class RestoredOutput {
 public:
  explicit RestoredOutput(OutputFile& file) : file_(&file), holes_(file) {}
  [[nodiscard]] ByteSink& sink() {
    return file_->can_read_back() ? static_cast<ByteSink&>(holes_) : static_cast<ByteSink&>(*file_);
  }

 private:
  OutputFile* file_;
  WithHoles holes_;
};

// Discards bytes that are only checked.
class Nowhere final : public ByteSink {
 public:
  Status write(std::span<const std::byte> /*bytes*/) override { return {}; }
};

// Refuses early what would fail later: the end of a file states the size of the restored stream.
Status check_size(const Arguments& a, InputFile& input) {
  const auto size = input.remaining();
  if (!size) return {};
  const auto end = read_end(input, *size, input.name(), content_limit);
  if (!end) return {};  // restoring gives the better message, and restores as much as possible to a pipe
  if (a.limit && end->stream_size > *a.limit) return beyond_limit(input.name(), end->stream_size, *a.limit);
  const auto room = a.output.empty() ? std::nullopt : OutputFile::room_for(a.output);
  if (room && end->stream_size > *room)
    return failure("{}: {} restores {}, and there are {} free; choose another place", a.output, input.name(),
                   bytes_text(static_cast<double>(end->stream_size)), bytes_text(static_cast<double>(*room)));
  return {};
}

// Restores a part of the stream to the output.
Status run_part(const Arguments& a, const Interrupt& interrupt) {
  const std::int64_t start = now_ns();
  if (!a.trace.empty())
    return usage_error("--trace: a part is restored by one thread; there is nothing to trace");
  if (Status checked = check_outputs_of(a); !checked) return checked;
  const auto input = open_input(a, interrupt);
  if (!input) return std::unexpected(input.error());
  const auto output = open_output(a, interrupt);
  if (!output) return std::unexpected(output.error());
  const StreamPart part{
      .from = a.from.value_or(0), .bytes = a.bytes, .kept_bytes = a.memory / 2, .limit = a.limit};
  ProgressLine progress(!a.quiet, progress_in_bytes);
  PartOutcome outcome = restore_part(**input, RestoredOutput(**output).sink(), part, interrupt.token(),
                                     shown_by(progress, part.bytes));
  if (outcome.status) outcome.status = (*output)->commit();
  progress.clear();
  const double elapsed = seconds(now_ns() - start);
  return report(a, outcome, to_text(outcome, part.from, elapsed), to_json(outcome, part.from, elapsed));
}

// Restores to the output; if there is none, only checks.
Status run_unpack(const Arguments& a, const Interrupt& interrupt) {
  if (a.from || a.bytes) return run_part(a, interrupt);
  const std::int64_t start = now_ns();
  if (Status checked = check_outputs_of(a); !checked) return checked;
  auto run = run_options(a, interrupt);
  if (!run) return std::unexpected(run.error());
  run->byte_budget /= 2;
  const auto input = open_input(a, interrupt);
  if (!input) return std::unexpected(input.error());
  if (Status fits = check_size(a, **input); !fits) return fits;
  std::unique_ptr<OutputFile> output;
  if (!a.output.empty()) {
    auto opened = open_output(a, interrupt);
    if (!opened) return std::unexpected(opened.error());
    output = std::move(*opened);
  }
  const auto pool = pool::WorkerPool::create(run->threads);
  if (!pool) return std::unexpected(pool.error());
  auto team = (*pool)->team();

  ProgressLine progress(!a.quiet, progress_in_bytes);
  Nowhere nowhere;
  const bool read_back = output && output->can_read_back();
  std::optional<RestoredOutput> restored;
  if (output) restored.emplace(*output);
  UnpackOutcome outcome = unpack(**input, restored ? restored->sink() : nowhere, team,
                                 {.restored = read_back ? output.get() : nullptr,
                                  .archive = (*input)->is_regular() ? input->get() : nullptr,
                                  .kept_bytes = read_back ? a.memory / 2 : a.memory / 4,
                                  .limit = a.limit,
                                  .run = *run,
                                  .source_waits = !(*input)->is_regular(),
                                  .sink_waits = output && !output->is_regular(),
                                  .progress = shown_by(progress, std::nullopt)});
  if (outcome.status && output) outcome.status = output->commit();
  progress.clear();
  const double elapsed = seconds(now_ns() - start);
  return report(a, outcome, to_text(outcome, elapsed, output ? "restored" : "checked"),
                to_json(outcome, elapsed, output ? "unpack" : "check"));
}

Status run_info(const Arguments& a, const Interrupt& interrupt) {
  if (Status checked = check_outputs_of(a); !checked) return checked;
  const auto input = open_input(a, interrupt);
  if (!input) return std::unexpected(input.error());
  const auto info = archive_info(**input);
  if (!info) return std::unexpected(info.error());
  if (a.json.empty()) return write_whole("-", to_text(*info));
  return write_json(to_json(*info), a.json, overwrite_if(a.force));
}

OptionWords strategy_words() {
  OptionWords words;
  for (const stream::Strategy strategy : stream::all_strategies())
    words.emplace_back(stream::strategy_name(strategy));
  return words;
}

// `a` is filled in before the action runs.
Action interruptible(Status (*verb)(const Arguments&, const Interrupt&), const Arguments& a) {
  return [verb, &a] {
    const Interrupt interrupt;
    return interrupt.told(verb(a, interrupt));
  };
}

void add_run_options(CLI::App& verb, Arguments& a) {
  add_overwrite_flag(verb, a.force);
  verb.add_option("--threads", a.threads, "Worker threads")
      ->check(between(1, 256))
      ->default_str("one for each usable CPU");
  verb.add_flag("-q,--quiet", a.quiet, "Print no progress line and no summary");
  verb.option_defaults()->group("Execution and reports");
  verb.add_option("--strategy", a.strategy, "Strategy of the stream runtime")
      ->option_text("NAME")
      ->check(one_of(strategy_words()))
      ->default_str("auto");
  verb.add_option("--tokens", a.tokens, "Parts of the stream that are in flight at most")
      ->check(between(1, 1 << 20))
      ->default_str("by strategy");
  verb.add_option("--memory", a.memory, "Bytes of the stream that are in memory at most")
      ->option_text("SIZE")
      ->transform(byte_count(std::uint64_t{1} << 20, std::uint64_t{1} << 40))
      ->default_str("256M");
  verb.add_option("--json", a.json, "Write a report to a file, or - for standard output")
      ->option_text("FILE");
  verb.add_option("--trace", a.trace,
                  "Write a timeline of the threads (JSON) for chrome://tracing or ui.perfetto.dev")
      ->option_text("FILE");
}

constexpr std::uint64_t largest_stream = std::uint64_t{1} << 62;

void add_limit(CLI::App& verb, Arguments& a) {
  verb.add_option("--limit", a.limit, "Fail instead of restoring more bytes, such as 10G")
      ->option_text("SIZE")
      ->transform(byte_count(0, largest_stream));
}

void add_verbs(CLI::App& app, Arguments& a, Action& action) {
  CLI::App* pack_verb =
      app.add_subcommand("pack", "Pack a file, folder or pipe into an archive without duplicates");
  pack_verb->add_option("IN", a.input, "File, folder, or - for standard input")
      ->option_text("INPUT")
      ->required();
  pack_verb->add_option("OUT", a.output, "Archive to write, or - for standard output")
      ->option_text("ARCHIVE")
      ->required();
  pack_verb->add_option("--compress", a.compression, "Compression of new data")
      ->option_text("NAME")
      ->check(one_of({"zstd", "zlib", "none"}))
      ->default_str("zstd");
  pack_verb->add_option("--level", a.level, "Level of the compression: 1 to 19 for zstd, 1 to 9 for zlib")
      ->default_str("3 for zstd, 6 for zlib");
  add_run_options(*pack_verb, a);
  pack_verb->option_defaults()->group("Duplicates");
  pack_verb
      ->add_option("--chunk", a.average_chunk, "Average length of a chunk: a power of two from 1K to 256K")
      ->option_text("SIZE")
      ->transform(byte_count(0, std::uint64_t{1} << 40))
      ->default_str("16K");
  pack_verb
      ->add_option(
          "--window", a.window,
          "New bytes before a chunk in which short copies are searched: a power of two up to 1G, or 0")
      ->option_text("SIZE")
      ->transform(byte_count(0, std::uint64_t{1} << 40))
      ->default_str("128M, or half of --memory");
  pack_verb->add_option("--writers", a.writers, "Threads that write the archive, which must be a file")
      ->check(between(1, most_writers))
      ->default_str("1");
  pack_verb->footer("# Pack a folder\nmillrace-dedup pack photos photos.mdd");
  pack_verb->callback([&] { action = interruptible(run_pack, a); });

  CLI::App* unpack_verb = app.add_subcommand("unpack", "Restore what was packed");
  unpack_verb->add_option("IN", a.input, "Archive, or - for standard input")
      ->option_text("ARCHIVE")
      ->required();
  unpack_verb->add_option("OUT", a.output, "File to write, or - for standard output")
      ->option_text("OUTPUT")
      ->required();
  unpack_verb
      ->add_option("--from", a.from, "Restore from this byte of the stream on, such as 10M; needs a file")
      ->option_text("SIZE")
      ->transform(byte_count(0, largest_stream));
  unpack_verb->add_option("--bytes", a.bytes, "Restore at most this number of bytes; needs a file")
      ->option_text("SIZE")
      ->transform(byte_count(0, largest_stream));
  add_limit(*unpack_verb, a);
  add_run_options(*unpack_verb, a);
  unpack_verb->footer("# Restore a folder as a tar stream\nmillrace-dedup unpack photos.mdd photos.tar");
  unpack_verb->callback([&] { action = interruptible(run_unpack, a); });

  CLI::App* check_verb = app.add_subcommand("check", "Check that an archive is complete and undamaged");
  check_verb->add_option("IN", a.input, "Archive, or - for standard input")
      ->option_text("ARCHIVE")
      ->required();
  add_limit(*check_verb, a);
  add_run_options(*check_verb, a);
  check_verb->footer("# Check an archive\nmillrace-dedup check photos.mdd");
  check_verb->callback([&] { action = interruptible(run_unpack, a); });

  CLI::App* info_verb = app.add_subcommand("info", "Show what an archive contains, without restoring it");
  info_verb->add_option("IN", a.input, "Archive, or - for standard input")
      ->option_text("ARCHIVE")
      ->required();
  info_verb->add_option("--json", a.json, "Print JSON, to a file if one is named")
      ->expected(0, 1)
      ->default_str("-")
      ->option_text("[FILE]");
  add_overwrite_flag(*info_verb, a.force);
  info_verb->footer("# Show what an archive contains\nmillrace-dedup info photos.mdd");
  info_verb->callback([&] { action = interruptible(run_info, a); });
}

int run_program(int argc, char** argv) {
  ignore_write_signals();
  CLI::App app{"Pack a stream without its duplicates, and restore it bit for bit."};
  app.require_subcommand(1);
  app.set_version_flag("--version", "millrace-dedup " MILLRACE_VERSION, "Print the version");
  app.footer("# Pack a folder\nmillrace-dedup pack photos photos.mdd");
  Arguments arguments;
  Action action;
  add_verbs(app, arguments, action);
  if (const auto end = read_command_line(app, argc, argv, program_name)) return *end;
  if (const Status done = action(); !done) return report_error(program_name, done.error());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run_guarded(program_name, [&] { return run_program(argc, argv); });
}
