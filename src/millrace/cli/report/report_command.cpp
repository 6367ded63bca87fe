#include "millrace/cli/report/report_command.h"

#include "millrace/base/check_outputs.h"
#include "millrace/base/command_line.h"
#include "millrace/base/interrupt.h"
#include "millrace/base/print.h"
#include "millrace/base/printable.h"
#include "millrace/base/whole_file.h"
#include "millrace/report/run/run_page.h"

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

Result<report::RunDocument> read_record(const std::string& path, const std::stop_token& stop) {
  constexpr std::size_t most_bytes = std::size_t{64} << 20;
  const auto text = read_text(path, most_bytes,
                              {.missing = "write it with 'millrace run ... --json FILE'",
                               .directory = "give the file that 'millrace run --json' wrote"},
                              stop);
  if (!text) return std::unexpected(text.error());
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  if (json.is_discarded())
    return failure("{}: is not JSON; give what 'millrace run --json' wrote", printable(path));
  return report::read_run_document(json, path);
}

Status make_report(const ReportOptions& options, const Interrupt& interrupt) {
  const Overwrite overwrite = overwrite_if(options.force);
  for (const std::string& record : options.records)
    if (Status apart = check_outputs({{"-o", options.output}}, overwrite, {"RECORD", record}); !apart)
      return apart;
  const auto first = read_record(options.records.front(), interrupt.token());
  if (!first) return std::unexpected(first.error());
  std::optional<report::RunDocument> second;
  if (options.records.size() > 1) {
    auto read = read_record(options.records.back(), interrupt.token());
    if (!read) return std::unexpected(read.error());
    second = std::move(*read);
  }
  Status written = write_whole(options.output, report::run_page(*first, second),
                               {.overwrite = overwrite, .durable = false});
  if (!written || options.quiet) return written;
  print_note("{}\n", printable(second ? report::verdict_of(*first, *second) : report::verdict_of(*first)));
  if (options.output != "-") print_note("wrote {}\n", printable(options.output));
  return {};
}

}  // namespace

void add_report_command(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand("report", "Make a page of what runs did and why, or compare two");
  auto options = std::make_shared<ReportOptions>();
  ReportOptions& o = *options;
  verb->add_option("records", o.records, "what 'millrace run --json' wrote: one file, or two to compare")
      ->required()
      ->expected(1, 2);
  verb->add_option("-o,--output", o.output, "the page, or - for standard output; default: report.html");
  verb->add_flag(overwrite_flag, o.force, overwrite_help);
  verb->add_flag("-q,--quiet", o.quiet, "no summary");
  verb->callback([&action, options] {
    action = [options] {
      const Interrupt interrupt;
      return interrupt.told(make_report(*options, interrupt));
    };
  });
}

}  // namespace millrace::cli
