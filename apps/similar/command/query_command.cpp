#include "similar/command/query_command.h"

#include "millrace/base/file/whole_file.h"
#include "millrace/base/options/option_values.h"
#include "millrace/base/options/progress_line.h"
#include "millrace/base/process/interrupt.h"
#include "millrace/base/text/print.h"
#include "millrace/stream/run/run_report_json.h"
#include "similar/command/index_command.h"
#include "similar/index/index_file.h"
#include "similar/index/record_file.h"
#include "similar/run/html_page.h"
#include "similar/run/query_report.h"
#include "similar/run/query_run.h"
#include "similar/run/thumbnails.h"

#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

namespace millrace::similar {
namespace {

struct QuerySettings {
  std::vector<std::string> images;
  std::string index = default_index;
  int top = 10;
  std::optional<double> farthest;
  std::string html;
  RunSettings run;
};

Result<ImageIndex> load_index(const std::string& path) {
  const auto bytes = read_record_file(path, index_mark);
  if (!bytes) return std::unexpected(bytes.error());
  if (!*bytes)
    return usage_error("there is no index '{}'; make one with: millrace-similar index DIR -o {}", path, path);
  auto index = index_from(**bytes);
  if (!index) {
    return failure("'{}' is {}; make it again with: millrace-similar index DIR -o {}", path,
                   index.error().message, path);
  }
  return index;
}

Status write_page(const QuerySettings& settings, const std::vector<QueryAnswer>& answers,
                  const ImageIndex& index, const stream::RunOptions& options, pool::Team& team) {
  std::set<std::string> paths;
  for (const QueryAnswer& answer : answers) {
    paths.insert(answer.path);
    if (!answer.answers) continue;
    for (const Answer& one : *answer.answers)
      paths.insert(index.path(one.image));
  }
  const auto thumbnails = make_thumbnails({paths.begin(), paths.end()}, options, team);
  if (!thumbnails) return std::unexpected(thumbnails.error());
  return write_whole(settings.html, html_page(answers, index, *thumbnails),
                     {.overwrite = overwrite_if(settings.run.force)});
}

nlohmann::json report_json(const QuerySettings& settings, const ImageIndex& index,
                           const std::vector<QueryAnswer>& answers, const stream::RunReport& report) {
  nlohmann::json json = {
      {"schema", "millrace.similar.query"}, {"version", 1},        {"index", settings.index},
      {"images", index.images().size()},    {"top", settings.top}, {"queries", to_json(answers, index)},
      {"run", stream::to_json(report)}};
  if (settings.farthest) json["distance"] = *settings.farthest;
  return json;
}

Result<int> query(const QuerySettings& settings) {
  if (Status checked = check_reports(
          settings.run,
          {{"--html", settings.html}, {"--json", settings.run.json}, {"--trace", settings.run.trace}},
          {"the index", settings.index});
      !checked)
    return std::unexpected(checked.error());
  const auto index = load_index(settings.index);
  if (!index) return std::unexpected(index.error());
  auto list = images_of(settings.images);
  if (!list) return std::unexpected(list.error());
  const Interrupt interrupt;
  auto means = means_of(settings.run);
  if (!means) return std::unexpected(means.error());
  means->options.stop = interrupt.token();
  for (const std::string& folder : list->unreadable_folders)
    print_error(program_name, fmt::format("the folder '{}' cannot be read; its images are left out", folder));

  // Standard output must contain only the report if one is written there.
  const bool text = settings.run.json != "-" && settings.html != "-";
  const bool keep = !settings.run.json.empty() || !settings.html.empty();
  ProgressLine progress(!settings.run.quiet, {.plural = "images"});
  const auto total = static_cast<std::int64_t>(list->files.size());
  std::int64_t done = 0;
  std::size_t unreadable = 0;
  std::vector<QueryAnswer> answers;
  pool::PoolTeam team = means->pool->team();
  const stream::Finished finished =
      run_query(*index,
                {.files = std::move(list->files),
                 .top = static_cast<std::size_t>(settings.top),
                 .farthest = settings.farthest.value_or(std::numeric_limits<double>::infinity()),
                 .options = means->options,
                 .readers = settings.run.readers,
                 .on_answer = [&](QueryAnswer answer) -> Status {
                   progress.clear();
                   if (!answer.answers) {
                     ++unreadable;
                     print_error(program_name, answer.answers.error().message + "; left out");
                   } else if (text) {
                     if (Status written = write_whole("-", to_text(answer, *index)); !written) return written;
                   }
                   progress.update(++done, total);
                   if (keep) answers.push_back(std::move(answer));
                   return {};
                 }},
                team);
  progress.clear();
  if (!finished.status) return interrupt.told(Result<int>(std::unexpected(finished.status.error())));
  if (!settings.html.empty()) {
    if (Status written = write_page(settings, answers, *index, means->options, team); !written)
      return std::unexpected(written.error());
  }
  const stream::RunReport& report = finished.report;
  if (!settings.run.quiet) {
    print_note("{} of {} images compared with {} in {:.2f} s: {:.0f} images/s\ntime: {} ({}, {} threads)\n",
               total - static_cast<std::int64_t>(unreadable), total, index->images().size(), report.wall_s,
               static_cast<double>(total) / report.wall_s, stage_shares(report),
               stream::strategy_name(report.strategy), report.threads);
  }
  if (Status written = write_reports(settings.run, report_json(settings, *index, answers, report), report);
      !written)
    return std::unexpected(written.error());
  return unreadable == 0 && list->unreadable_folders.empty() ? 0 : some_unreadable;
}

}  // namespace

void add_query_command(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("query", "Find the indexed images that are most like given images");
  auto settings = std::make_shared<QuerySettings>();
  verb->add_option("images", settings->images, "Image files, or folders with images")
      ->option_text("IMAGE...")
      ->required();
  verb->add_option("-i,--index", settings->index, "Index to search")
      ->option_text("FILE")
      ->default_str("similar.index");
  verb->add_option("--top", settings->top, "Answers for each image")
      ->check(between(1, 10'000))
      ->default_str("10");
  verb->add_option("--max-distance,--distance", settings->farthest,
                   "Largest distance of an answer; 0 is the same picture")
      ->check(not_negative());
  verb->add_option("--html", settings->html,
                   "Write a page with thumbnails to a file, or - for standard output")
      ->option_text("FILE");
  settings->run.add_options(*verb);
  verb->footer(
      "# Find the three images that are most like one\nmillrace-similar query a.jpg -i photos.index --top 3");
  verb->callback([&action, settings] { action = [settings] { return query(*settings); }; });
}

}  // namespace millrace::similar
