#include "millrace/cli/study/study_command.h"

#include "millrace/base/check_outputs.h"
#include "millrace/base/command_line.h"
#include "millrace/base/error_line.h"
#include "millrace/base/interrupt.h"
#include "millrace/base/json_file.h"
#include "millrace/base/print.h"
#include "millrace/base/printable.h"
#include "millrace/base/whole_file.h"
#include "millrace/cli/study/measure_study.h"
#include "millrace/report/study/findings.h"
#include "millrace/report/study/study_page.h"

#include <filesystem>
#include <memory>
#include <system_error>

#include <fmt/format.h>

namespace millrace::cli {
namespace {

struct StudyOptions {
  std::vector<std::string> figures;
  StudyRequest request;
  std::optional<int> runs;
  std::string output = "study.html";
  std::string json;
  bool force = false;
  bool quiet = false;
};

constexpr int quick_runs = 3;

Status study(const StudyOptions& options, const Interrupt& interrupt) {
  StudyRequest request = options.request;
  auto figures = report::parse_figures(options.figures);
  if (!figures) return std::unexpected(figures.error());
  request.figures = std::move(*figures);
  request.runs = options.runs.value_or(request.quick ? quick_runs : request.runs);
  request.progress = !options.quiet;
  const Overwrite overwrite = overwrite_if(options.force);
  const NamedPath none;
  if (Status checked = check_outputs({{"-o", options.output}, {"--json", options.json}}, overwrite, none);
      !checked)
    return checked;
  for (const std::string& input : request.inputs) {
    std::error_code missing;
    if (input == "-" || std::filesystem::is_other(std::filesystem::status(input, missing)))
      return usage_error("{}: cannot be read more than once, as study does with its clips; give a file",
                         input == "-" ? "standard input" : input);
    if (Status apart =
            check_outputs({{"-o", options.output}, {"--json", options.json}}, overwrite, {"--input", input});
        !apart)
      return apart;
  }
  const auto result = measure_study(request, interrupt);
  if (!result) return std::unexpected(result.error());
  // Where one cannot be written, the other holds what was measured.
  Status page =
      write_whole(options.output, report::study_page(*result), {.overwrite = overwrite, .durable = false});
  Status json;
  if (!options.json.empty()) json = write_json(report::to_json(*result), options.json, overwrite);
  if (!page && !json) print_error("millrace", json.error().message);
  if (!page) return page;
  if (!json) return json;
  if (options.quiet) return {};
  for (const report::Figure figure : result->figures) {
    const auto findings = report::findings_of(figure, *result);
    if (!findings.empty()) print_note("{}: {}\n", report::name_of(figure), report::summary_of(findings));
  }
  if (options.output != "-") print_note("wrote {}\n", printable(options.output));
  return {};
}

}  // namespace

void add_study_command(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand(
      "study", "Repeat the paper's figures on execution structures on this machine, as one page");
  auto options = std::make_shared<StudyOptions>();
  StudyOptions& o = *options;
  verb->add_option("figures", o.figures, "fig2 to fig7, map, or all; several divided by commas")
      ->required()
      ->delimiter(',');
  verb->add_option("--input,--clips", o.request.inputs,
                   "one or two videos, a small one for foreman (CIF) and a large one for tractor (1080p); "
                   "what is not given is generated")
      ->delimiter(',');
  verb->add_option("--runs", o.runs, "of each setting; default: 30, with --quick 3")
      ->check(CLI::Range(2, 10000));
  verb->add_option("--frames", o.request.frames, "in a run; default: 24 of the small clip, 6 of the large")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{10000}));
  verb->add_option("--threads", o.request.threads, "at most; default: as many as this process may use")
      ->check(CLI::Range(1, 4096));
  verb->add_flag("--quick", o.request.quick, "few runs on tiny frames: to see the page, not to measure");
  verb->add_option("-o,--output", o.output, "the page; default: study.html");
  verb->add_option("--json", o.json, "write every time to a file, or - for standard output");
  verb->add_flag(overwrite_flag, o.force, overwrite_help);
  verb->add_flag("-q,--quiet", o.quiet, "no progress line and no summary");
  verb->callback([&action, options] {
    action = [options] {
      const Interrupt interrupt;
      return interrupt.told(study(*options, interrupt));
    };
  });
}

}  // namespace millrace::cli
