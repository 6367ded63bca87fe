#include "similar/command/index_command.h"

#include "millrace/base/file/whole_file.h"
#include "millrace/base/options/option_values.h"
#include "millrace/base/options/progress_line.h"
#include "millrace/base/process/interrupt.h"
#include "millrace/base/text/print.h"
#include "millrace/stream/run/run_report_json.h"
#include "similar/index/index_file.h"
#include "similar/index/record_file.h"
#include "similar/run/index_run.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

namespace millrace::similar {
namespace {

struct IndexSettings {
  std::string folder;
  std::string output = default_index;
  bool anew = false;
  RunSettings run;
};

void warn(const std::string& line) { print_error(program_name, line); }

// The images of the index at settings.output, if it can be updated. An existing index is updated rather than
// overwritten; a damaged one is rebuilt. Usage error if the file is something else, or the index of another
// folder, and must not be overwritten.
Result<std::vector<IndexedImage>> known_images(const IndexSettings& settings, const std::string& folder) {
  const auto bytes = read_record_file(settings.output, index_mark);
  if (!bytes) return std::unexpected(bytes.error());
  if (!*bytes || (*bytes)->empty()) return {};
  if (!has_mark(**bytes, index_mark)) {
    if (settings.run.force) return {};
    return usage_error(
        "'{}' exists and is not an index; give -y to overwrite it, or name another file with -o",
        settings.output);
  }
  auto index = index_from(**bytes);
  if (!index) {
    if (!settings.anew)
      warn(fmt::format("'{}' is {}; it is made again", settings.output, index.error().message));
    return {};
  }
  if (index->folder() != folder) {
    if (settings.run.force) return {};
    return usage_error(
        "'{}' exists and is the index of '{}'; give -y to overwrite it, or name another file with -o",
        settings.output, index->folder());
  }
  if (settings.anew) return {};
  return index->images();
}

nlohmann::json to_json(const IndexSettings& settings, const IndexOutcome& outcome, std::uint64_t bytes,
                       const std::vector<std::string>& unreadable) {
  return {{"schema", "millrace.similar.index"},
          {"version", 1},
          {"folder", outcome.index.folder()},
          {"index", settings.output},
          {"index_bytes", bytes},
          {"images", outcome.index.images().size()},
          {"regions", outcome.index.graph().size()},
          {"reused", outcome.reused},
          {"unreadable", unreadable},
          {"run", stream::to_json(outcome.report)}};
}

std::string to_text(const IndexSettings& settings, const IndexOutcome& outcome, std::uint64_t bytes,
                    std::uint64_t passed_over) {
  const std::size_t images = outcome.index.images().size();
  const std::size_t done = images + outcome.unreadable;
  std::string text = fmt::format("{} images with {} regions in {:.2f} s: {:.0f} images/s", images,
                                 outcome.index.graph().size(), outcome.report.wall_s,
                                 static_cast<double>(done) / outcome.report.wall_s);
  if (outcome.reused > 0) text += fmt::format("; {} were known already", outcome.reused);
  if (outcome.unreadable > 0) text += fmt::format("; {} could not be read", outcome.unreadable);
  if (passed_over > 0) text += fmt::format("; {} other files passed over", passed_over);
  text += fmt::format("\ntime: {} ({}, {} threads)\nwrote {} ({} KiB)\n", stage_shares(outcome.report),
                      stream::strategy_name(outcome.report.strategy), outcome.report.threads,
                      printable(settings.output), (bytes + 1023) / 1024);
  return text;
}

Result<int> index_folder(const IndexSettings& settings) {
  if (is_image_name(settings.output))
    return usage_error(
        "'{}' is the name of an image, and the index would replace it; name another file with -o",
        settings.output);
  if (Status checked =
          check_reports(settings.run, {{"--json", settings.run.json}, {"--trace", settings.run.trace}},
                        {"the index", settings.output});
      !checked)
    return std::unexpected(checked.error());
  auto list = images_in(settings.folder);
  if (!list) return std::unexpected(list.error());
  std::error_code error;
  const std::string folder = std::filesystem::canonical(settings.folder, error);
  if (error) return failure("cannot find '{}': {}", settings.folder, error.message());
  const Interrupt interrupt;
  auto means = means_of(settings.run);
  if (!means) return std::unexpected(means.error());
  auto known = known_images(settings, folder);
  if (!known) return std::unexpected(known.error());
  auto journal = Journal::open(settings.output, folder);
  if (!journal) return std::unexpected(journal.error());
  // After the index's images, so that the journal's entry wins if both have an image.
  std::vector<IndexedImage> journalled = journal->take_images();
  if (!journalled.empty() && !settings.run.quiet)
    warn(fmt::format("going on from an interrupted run, which left {} images", journalled.size()));
  std::ranges::move(journalled, std::back_inserter(*known));

  for (const std::string& unreadable : list->unreadable_folders)
    warn(fmt::format("the folder '{}' cannot be read; its images are left out", unreadable));
  ProgressLine progress(!settings.run.quiet, {.plural = "images"});
  const auto total = static_cast<std::int64_t>(list->files.size());
  std::vector<std::string> unreadable;
  means->options.stop = interrupt.token();
  pool::PoolTeam team = means->pool->team();
  const IndexOutcome outcome = run_index(
      {.folder = folder,
       .files = std::move(list->files),
       .known = std::move(*known),
       .journal = &*journal,
       .options = means->options,
       .readers = settings.run.readers,
       .on_unreadable =
           [&](const Error& reason) {
             progress.clear();
             warn(reason.message + "; left out");
             unreadable.push_back(reason.message);
           },
       .on_progress = [&](std::size_t done) { progress.update(static_cast<std::int64_t>(done), total); }},
      team);
  progress.clear();
  if (!outcome.status && outcome.status.error().kind == ErrorKind::interrupted) {
    return interrupt.told(Result<int>(std::unexpected(
        Error{ErrorKind::interrupted,
              fmt::format("interrupted; {} has the images read so far; the same command continues from there",
                          journal->path())})));
  }
  if (!outcome.status) return std::unexpected(outcome.status.error());
  if (outcome.index.images().empty()) {
    journal->remove();
    return failure("no image in '{}' can be read; no index was written", settings.folder);
  }

  const std::vector<std::byte> bytes = index_bytes(outcome.index);
  if (Status written = write_whole(settings.output, bytes, {.overwrite = Overwrite::yes}); !written)
    return std::unexpected(written.error());
  journal->remove();
  if (!settings.run.quiet) print_note("{}", to_text(settings, outcome, bytes.size(), list->passed_over));
  if (Status written =
          write_reports(settings.run, to_json(settings, outcome, bytes.size(), unreadable), outcome.report);
      !written)
    return std::unexpected(written.error());
  return unreadable.empty() && list->unreadable_folders.empty() ? 0 : some_unreadable;
}

}  // namespace

void add_index_command(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("index", "Index the images of a folder");
  auto settings = std::make_shared<IndexSettings>();
  verb->add_option("folder", settings->folder, "Folder of the images, with its subfolders")->required();
  verb->add_option("-o,--output", settings->output, "Index to write or update")
      ->option_text("FILE")
      ->default_str("similar.index");
  verb->add_flag("--rebuild,--anew", settings->anew,
                 "Read all images again, also those that the existing index has");
  settings->run.add_options(*verb);
  verb->footer("# Index a folder\nmillrace-similar index photos -o photos.index");
  verb->callback([&action, settings] { action = [settings] { return index_folder(*settings); }; });
}

}  // namespace millrace::similar
