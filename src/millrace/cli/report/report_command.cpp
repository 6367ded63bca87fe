#include "millrace/cli/report/report_command.h"

#include "millrace/base/file/check_outputs.h"
#include "millrace/base/file/whole_file.h"
#include "millrace/base/process/interrupt.h"
#include "millrace/base/text/print.h"
#include "millrace/base/text/printable.h"
#include "millrace/report/run/run_page.h"
#include "millrace/report/units/units_page.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace millrace::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> records;
  std::string output = "report.html";
  bool force = false;
  bool quiet = false;
};

Result<nlohmann::json> read_json(const std::string& path, const std::stop_token& stop) {
  constexpr std::size_t most_bytes = std::size_t{64} << 20;
  const auto text = read_text(path, most_bytes,
                              {.missing = "write it with 'millrace run ... --json FILE'",
                               .directory = "give the file that 'millrace run --json' wrote"},
                              stop);
  if (!text) return std::unexpected(text.error());
  auto json = nlohmann::json::parse(*text, nullptr, false);
  if (json.is_discarded())
    return failure("{}: is not JSON; give what 'millrace run --json' or 'millrace status --json' wrote",
                   printable(path));
  return json;
}

// Whether this is the output of `millrace status --json`.
bool is_of_a_daemon(const nlohmann::json& record) {
  return record.is_object() && record.contains("daemon") && record.contains("programs");
}

Status make_units_page(const ReportOptions& options, const nlohmann::json& status,
                       const OutputOptions& output) {
  Status written = write_whole(options.output, report::units_page(status), output);
  if (written && !options.quiet && options.output != "-") print_note("wrote {}\n", printable(options.output));
  return written;
}

Status make_report(const ReportOptions& options, const Interrupt& interrupt) {
  const Overwrite overwrite = overwrite_if(options.force);
  std::vector<NamedPath> inputs;
  for (const std::string& record : options.records)
    inputs.push_back({"RECORD", record});
  if (Status apart = check_outputs({{"-o", options.output}}, overwrite, inputs); !apart) return apart;
  const OutputOptions output{.overwrite = overwrite, .durable = false};
  std::vector<report::RunDocument> runs;
  for (const std::string& record : options.records) {
    const auto json = read_json(record, interrupt.token());
    if (!json) return std::unexpected(json.error());
    if (options.records.size() == 1 && is_of_a_daemon(*json)) return make_units_page(options, *json, output);
    auto run = report::read_run_document(*json, record);
    if (!run) return std::unexpected(run.error());
    runs.push_back(std::move(*run));
  }
  const report::RunDocument& first = runs.front();
  const auto second = runs.size() > 1 ? std::optional(runs.back()) : std::nullopt;
  Status written = write_whole(options.output, report::run_page(first, second), output);
  if (!written || options.quiet) return written;
  print_note("{}\n", printable(second ? report::verdict_of(first, *second) : report::verdict_of(first)));
  if (options.output != "-") print_note("wrote {}\n", printable(options.output));
  return {};
}

}  // namespace

void add_report_command(CLI::App& app, Action& action) {
  CLI::App* verb =
      app.add_subcommand("report", "Make an HTML page about a run, two runs, or what a daemon watches");
  verb->group(verb_group::machine);
  auto options = std::make_shared<ReportOptions>();
  ReportOptions& o = *options;
  verb->add_option(
          "records", o.records,
          "Report of `millrace run --json`, or two to compare; or the output of `millrace status --json`")
      ->option_text("RECORD [RECORD]")
      ->required()
      ->expected(1, 2);
  verb->add_option("-o,--output", o.output, "Page to write, or - for standard output")
      ->option_text("FILE")
      ->default_str("report.html");
  add_overwrite_flag(*verb, o.force);
  verb->add_flag("-q,--quiet", o.quiet, "Print no summary");
  verb->footer("# Make a page about a run\nmillrace run @A test:640x480@100 -o null --json run.json\n"
               "millrace report run.json -o run.html");
  verb->callback([&action, options] {
    action = [options] {
      const Interrupt interrupt;
      return interrupt.told(make_report(*options, interrupt));
    };
  });
}

}  // namespace millrace::cli
