#include "millrace/cli/study/comparison_study.h"

#include "millrace/base/clock.h"
#include "millrace/base/in_quotes.h"
#include "millrace/cli/study/measure_decoders.h"
#include "millrace/cli/study/measure_dispatch.h"
#include "millrace/cli/study/measure_pipelines.h"
#include "millrace/cli/study/measure_x264.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/report/study/study_result.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace millrace::cli {
namespace {

using report::PipelineStudy;

constexpr std::string_view all_pipelines = "pipelines";
constexpr std::string_view all_dispatch = "dispatch";
constexpr int usual_program_runs = 5;
constexpr int usual_executions = 100;
constexpr int usual_decoder_executions = 20;
constexpr int quick_program_runs = 2;

std::vector<PipelineStudy> pipeline_studies_of(const std::vector<std::string>& names) {
  std::vector<PipelineStudy> studies;
  for (const PipelineStudy study : report::all_pipeline_studies())
    if (std::ranges::any_of(names, [&](const std::string& name) {
          return name == all_pipelines || name == report::name_of(study);
        }))
      studies.push_back(study);
  return studies;
}

std::string command_of(const ComparisonRequest& request) {
  std::string command = "millrace study";
  for (std::size_t i = 0; i < request.names.size(); ++i)
    command += (i == 0 ? " " : ",") + request.names[i];
  if (request.quick) command += " --quick";
  if (request.runs) command += fmt::format(" --runs {}", *request.runs);
  for (std::size_t i = 0; i < request.clips.size(); ++i)
    command += (i == 0 ? " --clips " : ",") + request.clips[i];
  if (!request.photos.empty()) command += fmt::format(" --photos {}", request.photos);
  if (!request.stream.empty()) command += fmt::format(" --stream {}", request.stream);
  return command;
}

Status add_pipelines(const ComparisonRequest& request, const machine::MachineReport& machine,
                     const Interrupt& interrupt, report::ComparisonPage& page) {
  const auto studies = pipeline_studies_of(request.names);
  if (studies.empty()) return {};
  const auto observed = measure_pipelines(
      {.studies = studies,
       .photos = request.photos,
       .stream = request.stream,
       .programs = request.programs,
       .runs = request.runs.value_or(request.quick ? quick_program_runs : usual_program_runs),
       .quick = request.quick,
       .progress = request.progress},
      machine, interrupt);
  if (!observed) return std::unexpected(observed.error());
  for (const PipelineStudy study : studies) {
    auto comparison = report::compare(study, *observed);
    if (!comparison) return std::unexpected(comparison.error());
    page.comparisons.push_back(std::move(*comparison));
  }
  return {};
}

Status add_x264(const ComparisonRequest& request, const machine::MachineReport& machine,
                const Interrupt& interrupt, report::ComparisonPage& page) {
  if (std::ranges::find(request.names, report::x264_study) == request.names.end()) return {};
  const auto observed =
      measure_x264({.clips = request.clips,
                    .runs = request.runs.value_or(request.quick ? quick_program_runs : usual_program_runs),
                    .quick = request.quick,
                    .progress = request.progress},
                   machine, interrupt);
  if (!observed) return std::unexpected(observed.error());
  auto comparison = report::compare(*observed);
  if (!comparison) return std::unexpected(comparison.error());
  page.comparisons.push_back(std::move(*comparison));
  return {};
}

std::vector<report::DispatchStudy> dispatch_studies_of(const std::vector<std::string>& names) {
  std::vector<report::DispatchStudy> studies;
  for (const report::DispatchStudy study : report::all_dispatch_studies())
    if (std::ranges::any_of(names, [&](const std::string& name) {
          return name == all_dispatch || name == report::name_of(study);
        }))
      studies.push_back(study);
  return studies;
}

Status add_dispatch(const ComparisonRequest& request, const machine::MachineReport& machine,
                    const Interrupt& interrupt, report::ComparisonPage& page) {
  const auto studies = dispatch_studies_of(request.names);
  if (studies.empty()) return {};
  const auto observed = measure_dispatch(
      {.studies = studies,
       .programs = request.programs,
       .executions = request.runs.value_or(request.quick ? quick_program_runs : usual_executions),
       .progress = request.progress},
      machine, interrupt);
  if (!observed) return std::unexpected(observed.error());
  for (const report::DispatchStudy study : studies) {
    auto comparison = report::compare(study, *observed);
    if (!comparison) return std::unexpected(comparison.error());
    page.comparisons.push_back(std::move(*comparison));
  }
  return {};
}

std::vector<report::DecoderStudy> decoder_studies_of(const std::vector<std::string>& names) {
  std::vector<report::DecoderStudy> studies;
  for (const report::DecoderStudy study : report::all_decoder_studies())
    if (std::ranges::any_of(names, [&](const std::string& name) {
          return name == all_dispatch || name == report::name_of(study);
        }))
      studies.push_back(study);
  return studies;
}

Status add_decoders(const ComparisonRequest& request, const machine::MachineReport& machine,
                    const Interrupt& interrupt, report::ComparisonPage& page) {
  const auto studies = decoder_studies_of(request.names);
  if (studies.empty()) return {};
  const auto observed = measure_decoders(
      {.studies = studies,
       .clips = request.clips,
       .programs = request.programs,
       .executions = request.runs.value_or(request.quick ? quick_program_runs : usual_decoder_executions),
       .quick = request.quick,
       .progress = request.progress},
      machine, interrupt);
  if (!observed) return std::unexpected(observed.error());
  for (const report::DecoderStudy study : studies) {
    auto comparison = report::compare(study, *observed);
    if (!comparison) return std::unexpected(comparison.error());
    page.comparisons.push_back(std::move(*comparison));
  }
  return {};
}

}  // namespace

bool shows_clips(const std::vector<std::string>& names) {
  return std::ranges::find(names, report::x264_study) != names.end() || !decoder_studies_of(names).empty();
}

bool is_comparison(const std::string& name) {
  return name == all_pipelines || name == report::x264_study || !dispatch_studies_of({name}).empty() ||
         !decoder_studies_of({name}).empty() ||
         std::ranges::any_of(report::all_pipeline_studies(),
                             [&](PipelineStudy study) { return name == report::name_of(study); });
}

Result<report::ComparisonPage> measure_comparisons(const ComparisonRequest& request,
                                                   const Interrupt& interrupt) {
  for (const std::string& name : request.names)
    if (!is_comparison(name))
      return usage_error("{} is no study that goes on one page with {}; see: millrace study list",
                         in_quotes(name), in_quotes(request.names.front()));
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
  if (Status added = add_pipelines(request, *machine, interrupt, page); !added)
    return std::unexpected(added.error());
  if (Status added = add_x264(request, *machine, interrupt, page); !added)
    return std::unexpected(added.error());
  if (Status added = add_dispatch(request, *machine, interrupt, page); !added)
    return std::unexpected(added.error());
  if (Status added = add_decoders(request, *machine, interrupt, page); !added)
    return std::unexpected(added.error());
  page.seconds = seconds(now_ns() - start);
  if (Status whole = report::check(page); !whole) return std::unexpected(whole.error());
  return page;
}

}  // namespace millrace::cli
