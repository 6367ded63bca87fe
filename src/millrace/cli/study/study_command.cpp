#include "millrace/cli/study/study_command.h"

#include "millrace/base/file/check_outputs.h"
#include "millrace/base/file/json_file.h"
#include "millrace/base/file/whole_file.h"
#include "millrace/base/process/interrupt.h"
#include "millrace/base/text/error_line.h"
#include "millrace/base/text/in_quotes.h"
#include "millrace/base/text/print.h"
#include "millrace/base/text/printable.h"
#include "millrace/cli/command/video_options.h"
#include "millrace/cli/study/comparison_study.h"
#include "millrace/cli/study/measure_study.h"
#include "millrace/cli/study/study_list.h"
#include "millrace/report/comparison/comparison.h"
#include "millrace/report/study/findings.h"
#include "millrace/report/study/study_page.h"
#include "millrace/video/reader.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include <fmt/format.h>

namespace millrace::cli {
namespace {

struct StudyOptions {
  std::vector<std::string> figures;
  StudyRequest request;
  ComparisonRequest comparison;
  std::optional<int> runs;
  std::string output = "study.html";
  std::string json;
  bool force = false;
  bool quiet = false;
};

constexpr int quick_runs = 3;

bool is_list(const std::string& word) { return word == "list" || word == "LIST"; }

// Writes the requested page and JSON. If one cannot be written, the other still has the measurements.
Status write_results(const StudyOptions& options, const std::string& page,
                     const nlohmann::ordered_json& report) {
  const Overwrite overwrite = overwrite_if(options.force);
  Status written = write_whole(options.output, page, {.overwrite = overwrite, .durable = false});
  Status json;
  if (!options.json.empty()) json = write_json(report, options.json, overwrite);
  if (!written && !json) print_error("millrace", json.error().message);
  return written ? json : written;
}

std::unexpected<Error> not_together(const std::string& name, const std::string& first) {
  return usage_error("{} cannot be on one page with {}; see: millrace study list", in_quotes(name),
                     in_quotes(first));
}

void tell_where(const StudyOptions& options) {
  if (options.output != "-") print_note("wrote {}\n", printable(options.output));
}

// Inputs are read several times, so pipes are refused.
Status check_input(const NamedPath& input) {
  std::error_code missing;
  if (input.path == "-" || std::filesystem::is_other(std::filesystem::status(input.path, missing)))
    return usage_error("{}: cannot be read more than once; give a file",
                       input.path == "-" ? "standard input" : printable(input.path));
  return {};
}

// For inputs of the measured programs, which would report a problem only after a while.
Status check_file(const NamedPath& input) {
  if (Status checked = check_input(input); !checked) return checked;
  std::error_code error;
  const auto status = std::filesystem::status(input.path, error);
  if (!std::filesystem::exists(status))
    return usage_error("{}: no such file; give a file to {}", printable(input.path), input.role);
  if (std::filesystem::is_directory(status))
    return usage_error("{}: is a directory; give a file in it", printable(input.path));
  if (std::filesystem::file_size(input.path, error) == 0 && !error)
    return usage_error("{}: is empty; give a file with content to {}", printable(input.path), input.role);
  return {};
}

// Call it with all inputs, because no output may be an input.
Status check_results(const StudyOptions& options, const std::vector<NamedPath>& inputs) {
  return check_outputs({{"-o", options.output}, {"--json", options.json}}, overwrite_if(options.force),
                       inputs);
}

// Runs the studies of the other papers.
Status compare_with_papers(const StudyOptions& options, const Interrupt& interrupt) {
  ComparisonRequest request = options.comparison;
  request.names = options.figures;
  request.runs = options.runs;
  request.quick = options.request.quick;
  request.progress = !options.quiet;
  request.clips = options.request.inputs;
  if ((!request.clips.empty() && !shows_clips(request.names)) || options.request.frames ||
      options.request.threads)
    return usage_error(
        "--clips is for x264, decoders and execution structures, --frames and --threads are for execution "
        "structures only; leave them out (see 'millrace study list')");
  for (const std::string& name : request.names)
    if (!is_comparison(name)) return not_together(name, request.names.front());
  std::vector<NamedPath> inputs;
  for (const std::string& clip : request.clips)
    inputs.push_back({"--clips", clip});
  if (!request.stream.empty()) inputs.push_back({"--stream", request.stream});
  for (const NamedPath& input : inputs)
    if (Status checked = check_file(input); !checked) return checked;
  if (!request.photos.empty() && !std::filesystem::is_directory(request.photos))
    return usage_error("--photos: there is no folder {}; give one with images", in_quotes(request.photos));
  if (Status checked = check_results(options, inputs); !checked) return checked;
  const auto page = measure_comparisons(request, interrupt);
  if (!page) return std::unexpected(page.error());
  if (Status written = write_results(options, report::to_page(*page), report::to_json(*page)); !written)
    return written;
  if (options.quiet) return {};
  for (const report::Comparison& comparison : page->comparisons)
    for (const std::string& finding : comparison.findings)
      print_note("{}: {}\n", comparison.name, finding);
  tell_where(options);
  return {};
}

Status study(const StudyOptions& options, const Interrupt& interrupt) {
  StudyRequest request = options.request;
  if (const auto other = std::ranges::find_if(options.figures, is_comparison); other != options.figures.end())
    return not_together(*other, options.figures.front());
  auto figures = report::parse_figures(options.figures);
  if (!figures) return std::unexpected(figures.error());
  if (!options.comparison.photos.empty() || !options.comparison.stream.empty())
    return usage_error("{} does not apply to {}; leave it out (see 'millrace study list')",
                       options.comparison.photos.empty() ? "--stream" : "--photos",
                       in_quotes(options.figures.front()));
  request.figures = std::move(*figures);
  request.runs = options.runs.value_or(request.quick ? quick_runs : request.runs);
  request.progress = !options.quiet;
  std::vector<NamedPath> inputs;
  for (const std::string& input : request.inputs) {
    inputs.push_back({"--clips", input});
    if (Status checked = check_input(inputs.back()); !checked) return checked;
    // A generated video or numbered pictures are not a single file.
    std::error_code missing;
    if (video::is_coded_input(input) && !input.contains('%') && !std::filesystem::exists(input, missing))
      return usage_error("{}: no such file; give a video to --clips", printable(input));
  }
  if (Status checked = check_results(options, inputs); !checked) return checked;
  const auto result = measure_study(request, interrupt);
  if (!result) return std::unexpected(result.error());
  if (Status written = write_results(options, report::study_page(*result), report::to_json(*result));
      !written)
    return written;
  if (options.quiet) return {};
  for (const report::Figure figure : result->figures) {
    const auto findings = report::findings_of(figure, *result);
    if (!findings.empty()) print_note("{}: {}\n", report::name_of(figure), report::summary_of(findings));
  }
  tell_where(options);
  return {};
}

Status study_or_list(const StudyOptions& options, const Interrupt& interrupt) {
  if (std::ranges::any_of(options.figures, is_list)) {
    print_out("{}", study_list());
    return {};
  }
  return is_comparison(options.figures.front()) ? compare_with_papers(options, interrupt)
                                                : study(options, interrupt);
}

}  // namespace

void add_study_command(CLI::App& app, Action& action) {
  CLI::App* verb = app.add_subcommand(
      "study", "Repeat the experiments of the papers on this machine, and show both results on one page");
  verb->group(verb_group::machine);
  auto options = std::make_shared<StudyOptions>();
  StudyOptions& o = *options;
  verb->add_option(
          "figures", o.figures,
          "Experiments, separated by commas: fig2 to fig7, map, all, pipelines, x264, dispatch, or single "
          "names from `millrace study list`")
      ->option_text("NAME,...")
      ->required()
      ->delimiter(',')
      ->check(suggest(study_names()));
  verb->add_option("-o,--output", o.output, "Page to write")->option_text("FILE")->default_str("study.html");
  add_overwrite_flag(*verb, o.force);
  verb->add_flag("--quick", o.request.quick,
                 "Make few runs on tiny inputs, to see the page without measuring");
  verb->add_option("--runs", o.runs, "Runs of each setting")
      ->check(between(2, 10000))
      ->default_str(
          "30 for fig2 to map, 20 for decoders, 100 for other dispatch studies, else 5; with --quick 3 or 2");
  verb->add_flag("-q,--quiet", o.quiet, "Print no progress line and no summary");
  begin_group(*verb, "Inputs");
  verb->add_option("--clips,--input", o.request.inputs,
                   "Videos: a small one (CIF) and a large one (1080p); any number for decoders")
      ->option_text("FILE,...")
      ->delimiter(',')
      ->default_str("generated");
  verb->add_option("--photos", o.comparison.photos, "Images for the image search of the pipeline studies")
      ->option_text("FOLDER")
      ->default_str("generated");
  verb->add_option("--stream", o.comparison.stream, "File that dedup packs in the pipeline studies")
      ->option_text("FILE")
      ->default_str("generated");
  verb->add_option("--programs", o.comparison.programs, "Programs that the studies run")
      ->option_text("FOLDER")
      ->default_str("the folder of this program, then PATH");
  begin_group(*verb, "Settings");
  verb->add_option("--frames", o.request.frames, "Frames of a run")
      ->check(between(std::int64_t{1}, std::int64_t{10000}))
      ->default_str("24 of the small clip, 6 of the large one");
  verb->add_option("--threads", o.request.threads, "Most worker threads")
      ->check(between(1, 4096))
      ->default_str(worker_threads_default);
  begin_group(*verb, "Reports");
  verb->add_option("--json", o.json, "Write all times to a file, or - for standard output")
      ->option_text("FILE");
  verb->footer("# List all studies\nmillrace study list\n# See a page quickly\nmillrace study fig2 --quick");
  verb->callback([&action, options] {
    action = [options] {
      const Interrupt interrupt;
      return interrupt.told(study_or_list(*options, interrupt));
    };
  });
}

}  // namespace millrace::cli
