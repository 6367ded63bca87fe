#include "millrace/report/comparison/pipeline_studies.h"

#include "millrace/report/comparison/pipeline_comparisons.h"
#include "millrace/report/comparison/pipeline_settings.h"

#include <algorithm>
#include <array>

namespace millrace::report {
namespace {

using namespace pipelines;

struct Named {
  PipelineStudy study;
  std::string_view name;
  std::string_view title;
};
constexpr std::array named{
    Named{PipelineStudy::table1, "pipeline-table1",
          "Table 1: pools of threads, with cores of their own and oversubscribed"},
    Named{PipelineStudy::table2, "pipeline-table2", "Table 2: work stealing, six stages and three"},
    Named{PipelineStudy::fig2, "pipeline-fig2",
          "Figure 2: useful and idle time of the stages of the image search"},
    Named{PipelineStudy::fig4, "pipeline-fig4", "Figure 4: useful and idle time of the stages of dedup"},
    Named{PipelineStudy::fig6b, "pipeline-fig6b",
          "Figure 6 (b): dedup as an open pipeline, all stages and collapsed"},
    Named{PipelineStudy::fig9, "pipeline-fig9", "Figure 9: work stealing, its model and the ideal queue"},
    Named{PipelineStudy::fig10b, "pipeline-fig10b",
          "Figure 10 (b): dedup, oversubscribed pools against stealing"},
    Named{PipelineStudy::fig11, "pipeline-fig11", "Figure 11: parallel input"}};
constexpr std::array studies{PipelineStudy::table1, PipelineStudy::table2, PipelineStudy::fig2,
                             PipelineStudy::fig4,   PipelineStudy::fig6b,  PipelineStudy::fig9,
                             PipelineStudy::fig10b, PipelineStudy::fig11};

const Named& entry_of(PipelineStudy study) { return *std::ranges::find(named, study, &Named::study); }

}  // namespace

std::string_view name_of(PipelineStudy study) { return entry_of(study).name; }
std::string_view title_of(PipelineStudy study) { return entry_of(study).title; }
std::span<const PipelineStudy> all_pipeline_studies() { return studies; }

bool needs(PipelineStudy study, StudyProgram program) {
  using enum PipelineStudy;
  switch (study) {
  case table2:
    return true;
  case table1:
  case fig2:
  case fig9:
  case fig11:
    return program == StudyProgram::similar;
  case fig4:
  case fig6b:
  case fig10b:
    return program == StudyProgram::dedup;
  }
  return false;
}

ProgramSetting service_setting(StudyProgram program, bool four_stages) {
  return {.program = program,
          .strategy = "stealing",
          .threads = 1,
          .tokens = 1,
          .readers = four_stages ? 1 : 0,
          .cold = four_stages,
          .pes = 1};
}

std::vector<ProgramSetting> settings_of(PipelineStudy study, int pes, bool quick) {
  std::vector<ProgramSetting> settings;
  const auto counts = quick ? std::vector{pes} : measured_counts(pes);
  const auto similar = StudyProgram::similar;
  const auto dedup = StudyProgram::dedup;
  switch (study) {
  case PipelineStudy::table1:
    for (const int c : counts)
      settings.push_back(pools_of(similar, c, c));
    break;
  case PipelineStudy::table2:
    for (const int c : counts) {
      for (const char* strategy : {"tbb", "stealing"}) {
        settings.push_back(tasks_of(similar, strategy, similar_tokens * c, c));
        settings.push_back(tasks_of(similar, strategy, similar_tokens * c, c, 1));
        settings.push_back(tasks_of(dedup, strategy, dedup_tokens * c, c));
      }
    }
    break;
  case PipelineStudy::fig2:
  case PipelineStudy::fig4:
    for (const int c : counts)
      settings.push_back(pools_of(study == PipelineStudy::fig2 ? similar : dedup, c, pes));
    break;
  case PipelineStudy::fig6b:
    for (const int threads : quick ? std::vector{pes} : measured_counts(std::max(pes, 3))) {
      settings.push_back(collapsed_of(dedup, threads, pes));
      settings.push_back(settings.back());
      settings.back().strategy = "pools";
    }
    break;
  case PipelineStudy::fig9:
    for (const int c : counts)
      for (const int tokens : {20, 6 * c})
        settings.push_back(tasks_of(similar, "tbb", tokens, c));
    break;
  case PipelineStudy::fig10b:
    for (const int c : counts) {
      settings.push_back(collapsed_of(dedup, oversubscription * c, c));
      settings.push_back(tasks_of(dedup, "tbb", dedup_tokens * c, c));
    }
    break;
  case PipelineStudy::fig11:
    for (const int readers : reader_counts) {
      if (quick && readers > 1) break;
      for (const char* strategy : {"collapsed", "stealing"})
        settings.push_back(parallel_input(strategy, readers, pes, pes));
    }
    break;
  }
  return settings;
}

Result<Comparison> compare(PipelineStudy study, const PipelineObservations& observed) {
  for (const StudyProgram program : {StudyProgram::similar, StudyProgram::dedup})
    if (needs(study, program) && study != PipelineStudy::fig11 && !observed.times.contains(program))
      return failure("study {}: no service times were measured", name_of(study));
  if (study == PipelineStudy::fig11 && !observed.four_stages)
    return failure("study {}: no service times of parallel input were measured", name_of(study));
  const auto of = [&](StudyProgram program) { return ObservedProgram(observed, observed.times.at(program)); };
  const auto made = [&]() -> Result<Comparison> {
    switch (study) {
    case PipelineStudy::table1:
      return pipelines::table1(observed, of(StudyProgram::similar));
    case PipelineStudy::table2:
      return table2(observed, of(StudyProgram::similar), of(StudyProgram::dedup));
    case PipelineStudy::fig2:
      return breakdown(observed, of(StudyProgram::similar), StudyProgram::similar);
    case PipelineStudy::fig4:
      return breakdown(observed, of(StudyProgram::dedup), StudyProgram::dedup);
    case PipelineStudy::fig6b:
      return fig6b(observed, of(StudyProgram::dedup));
    case PipelineStudy::fig9:
      return fig9(observed, of(StudyProgram::similar));
    case PipelineStudy::fig10b:
      return fig10b(observed, of(StudyProgram::dedup));
    case PipelineStudy::fig11:
      return fig11(observed, ObservedProgram(observed, *observed.four_stages));
    }
    return failure("no such study");
  }();
  if (!made) return made;
  Comparison comparison = *made;
  comparison.name = name_of(study);
  comparison.title = title_of(study);
  return comparison;
}

}  // namespace millrace::report
