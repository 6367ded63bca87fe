#include "millrace/cli/study/study_list.h"

#include "millrace/report/comparison/decoder_study.h"
#include "millrace/report/comparison/dispatch_study.h"
#include "millrace/report/comparison/pipeline_studies.h"
#include "millrace/report/comparison/x264_study.h"
#include "millrace/report/study/figure.h"

#include <string_view>

#include <fmt/format.h>

namespace millrace::cli {
namespace {

std::string line(std::string_view name, std::string_view what) {
  return fmt::format("  {:<16} {}\n", name, what);
}

}  // namespace

std::vector<std::string> study_names() {
  std::vector<std::string> names{"list", "all", "pipelines", "dispatch", std::string(report::x264_study)};
  const auto add = [&names](const auto& studies) {
    for (const auto study : studies)
      names.emplace_back(report::name_of(study));
  };
  add(report::all_figures());
  add(report::all_pipeline_studies());
  add(report::all_decoder_studies());
  add(report::all_dispatch_studies());
  return names;
}

std::string study_list() {
  std::string text = "Execution structures (four x86 processors, 2012); all: every one of these\n";
  for (const report::Figure figure : report::all_figures())
    text += line(report::name_of(figure), report::title_of(figure));
  text += "Analytical modeling of pipeline parallelism (HP Superdome, 2009); pipelines: every one of these\n";
  for (const report::PipelineStudy study : report::all_pipeline_studies())
    text += line(report::name_of(study), report::title_of(study));
  text += "x264 and the kernel's scheduler (a report to its developers, 2012)\n";
  text += line(report::x264_study, report::x264_title);
  text += "UDispatch+ (a quad core, 2010); dispatch: every one of these\n";
  for (const report::DecoderStudy study : report::all_decoder_studies())
    text += line(report::name_of(study), report::title_of(study));
  for (const report::DispatchStudy study : report::all_dispatch_studies())
    text += line(report::name_of(study), report::title_of(study));
  return text;
}

}  // namespace millrace::cli
