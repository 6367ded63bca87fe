#include "millrace/cli/study/comparison_study.h"

#include "millrace/base/error/clock.h"
#include "millrace/cli/study/measure_decoders.h"
#include "millrace/cli/study/measure_dispatch.h"
#include "millrace/cli/study/measure_pipelines.h"
#include "millrace/cli/study/measure_x264.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/report/study/study_result.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::cli {
namespace {

constexpr std::string_view all_pipelines = "pipelines";
constexpr std::string_view all_dispatch = "dispatch";
constexpr int usual_program_runs = 5;
constexpr int usual_executions = 100;
constexpr int usual_decoder_executions = 20;
constexpr int quick_program_runs = 2;

// The studies in `all` that are named, individually or by their group.
template <class Study>
std::vector<Study> named_among(std::span<const Study> all, std::string_view group,
                               const std::vector<std::string>& names) {
  std::vector<Study> studies;
  std::ranges::copy_if(all, std::back_inserter(studies), [&](Study study) {
    return std::ranges::any_of(
        names, [&](const std::string& name) { return name == group || name == report::name_of(study); });
  });
  return studies;
}

std::vector<report::PipelineStudy> pipeline_studies_of(const std::vector<std::string>& names) {
  return named_among(report::all_pipeline_studies(), all_pipelines, names);
}
std::vector<report::DispatchStudy> dispatch_studies_of(const std::vector<std::string>& names) {
  return named_among(report::all_dispatch_studies(), all_dispatch, names);
}
std::vector<report::DecoderStudy> decoder_studies_of(const std::vector<std::string>& names) {
  return named_among(report::all_decoder_studies(), all_dispatch, names);
}
bool has_x264(const std::vector<std::string>& names) {
  return std::ranges::find(names, report::x264_study) != names.end();
}

// Quotes the text as one word for a shell.
std::string shell_word(const std::string& text) {
  const bool plain = !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-+./:,=@%").contains(c);
  });
  if (plain) return text;
  std::string word = "'";
  for (const char c : text)
    word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string command_of(const ComparisonRequest& request) {
  std::string command = fmt::format("millrace study {}", fmt::join(request.names, ","));
  if (request.quick) command += " --quick";
  if (request.runs) command += fmt::format(" --runs {}", *request.runs);
  const auto add = [&command](std::string_view option, const std::string& value) {
    if (!value.empty()) command += fmt::format(" {} {}", option, shell_word(value));
  };
  for (const std::string& clip : request.clips)
    add("--clips", clip);
  add("--photos", request.photos);
  add("--stream", request.stream);
  add("--programs", request.programs);
  return command;
}

int runs_of(const ComparisonRequest& request, int usual) {
  return request.runs.value_or(request.quick ? quick_program_runs : usual);
}

Status add(report::ComparisonPage& page, Result<report::Comparison> comparison) {
  if (!comparison) return std::unexpected(comparison.error());
  page.comparisons.push_back(std::move(*comparison));
  return {};
}

// Adds each study, evaluated from the shared observations.
template <class Study, class Observations>
Status add(report::ComparisonPage& page, const std::vector<Study>& studies,
           const Result<Observations>& observed) {
  if (!observed) return std::unexpected(observed.error());
  for (const Study study : studies)
    if (Status added = add(page, report::compare(study, *observed)); !added) return added;
  return {};
}

Status add_pipelines(const ComparisonRequest& request, const machine::MachineReport& machine,
                     const Interrupt& interrupt, report::ComparisonPage& page) {
  const auto studies = pipeline_studies_of(request.names);
  if (studies.empty()) return {};
  return add(page, studies,
             measure_pipelines({.studies = studies,
                                .photos = request.photos,
                                .stream = request.stream,
                                .programs = request.programs,
                                .runs = runs_of(request, usual_program_runs),
                                .quick = request.quick,
                                .progress = request.progress},
                               machine, interrupt));
}

Status add_x264(const ComparisonRequest& request, const machine::MachineReport& machine,
                const Interrupt& interrupt, report::ComparisonPage& page) {
  if (!has_x264(request.names)) return {};
  const auto observed = measure_x264({.clips = request.clips,
                                      .runs = runs_of(request, usual_program_runs),
                                      .quick = request.quick,
                                      .progress = request.progress},
                                     machine, interrupt);
  return observed ? add(page, report::compare(*observed)) : std::unexpected(observed.error());
}

Status add_dispatch(const ComparisonRequest& request, const machine::MachineReport& machine,
                    const Interrupt& interrupt, report::ComparisonPage& page) {
  const auto studies = dispatch_studies_of(request.names);
  if (studies.empty()) return {};
  return add(page, studies,
             measure_dispatch({.studies = studies,
                               .programs = request.programs,
                               .executions = runs_of(request, usual_executions),
                               .progress = request.progress},
                              machine, interrupt));
}

Status add_decoders(const ComparisonRequest& request, const machine::MachineReport& machine,
                    const Interrupt& interrupt, report::ComparisonPage& page) {
  const auto studies = decoder_studies_of(request.names);
  if (studies.empty()) return {};
  return add(page, studies,
             measure_decoders({.studies = studies,
                               .clips = request.clips,
                               .programs = request.programs,
                               .executions = runs_of(request, usual_decoder_executions),
                               .quick = request.quick,
                               .progress = request.progress},
                              machine, interrupt));
}

}  // namespace

bool shows_clips(const std::vector<std::string>& names) {
  return has_x264(names) || !decoder_studies_of(names).empty();
}

bool is_comparison(const std::string& name) {
  return has_x264({name}) || !pipeline_studies_of({name}).empty() || !dispatch_studies_of({name}).empty() ||
         !decoder_studies_of({name}).empty();
}

Result<report::ComparisonPage> measure_comparisons(const ComparisonRequest& request,
                                                   const Interrupt& interrupt) {
  const std::int64_t start = now_ns();
  const auto machine = machine::inspect_machine();
  if (!machine) return std::unexpected(machine.error());
  report::StudyResult here;
  report::describe_machine(here, *machine, machine->usable.worker_limit);
  report::ComparisonPage page{
      .command = command_of(request),
      .machine = fmt::format("{}, {} CPUs, {}", here.processor, machine->usable.worker_limit, here.caches),
      .kernel = here.kernel,
      .quick = request.quick};
  for (const auto add_studies : {add_pipelines, add_x264, add_dispatch, add_decoders})
    if (Status added = add_studies(request, *machine, interrupt, page); !added)
      return std::unexpected(added.error());
  page.seconds = seconds(now_ns() - start);
  if (Status whole = report::check(page); !whole) return std::unexpected(whole.error());
  return page;
}

}  // namespace millrace::cli
