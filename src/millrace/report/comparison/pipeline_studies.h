// The experiments of the analytical pipeline paper: how the two programs are run for each, and what comes of
// it beside the paper. Pure: observations in, comparisons out.
#pragma once

#include "millrace/base/result.h"
#include "millrace/model/pipeline/pipeline.h"
#include "millrace/report/comparison/comparison.h"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::report {

// Tables 1 and 2 and figures 2, 4, 6 (b), 9, 10 (b) and 11.
enum class PipelineStudy { table1, table2, fig2, fig4, fig6b, fig9, fig10b, fig11 };
// "pipeline-table1" to "pipeline-fig11"
[[nodiscard]] std::string_view name_of(PipelineStudy study);
// In a few words, for a list.
[[nodiscard]] std::string_view title_of(PipelineStudy study);
[[nodiscard]] std::span<const PipelineStudy> all_pipeline_studies();

// Programs of the same shape as the paper's two: millrace-similar for ferret, millrace-dedup for dedup.
enum class StudyProgram { similar, dedup };
[[nodiscard]] bool needs(PipelineStudy study, StudyProgram program);

// One way to run a program.
struct ProgramSetting {
  StudyProgram program = StudyProgram::similar;
  std::string strategy;
  int threads = 1;
  int tokens = 0;     // 0: the program's own
  int queue = 20;     // of similar
  int readers = 0;    // of similar
  bool cold = false;  // input files out of the page cache before each run
  int pes = 1;        // processing elements: CPUs that it is bound to

  auto operator<=>(const ProgramSetting&) const = default;
};

struct StageTimes {
  std::string name;
  int threads = 1;             // at least 1
  std::vector<double> busy_s;  // of all of them, in each run
};

struct ProgramRuns {
  std::vector<double> seconds;  // of the stream, of each run
  std::vector<StageTimes> stages;
};

// What a program's stages cost, from a run on one thread with one token, on one CPU.
struct ServiceTimes {
  model::Pipeline pipeline;
  std::int64_t items = 0;
  double sequential_seconds = 0;
};

struct PipelineObservations {
  int pes = 1;  // that this process may use
  bool quick = false;
  std::map<StudyProgram, ServiceTimes> times;
  std::optional<ServiceTimes> four_stages;  // of similar with parallel input, read from where the files lie
  std::map<ProgramSetting, ProgramRuns> runs;
};

// The runs that a study needs where so many processing elements are at hand, besides those of the service
// times.
[[nodiscard]] std::vector<ProgramSetting> settings_of(PipelineStudy study, int pes, bool quick);
// How service times are measured; of four stages: those of PipelineObservations::four_stages.
[[nodiscard]] ProgramSetting service_setting(StudyProgram program, bool four_stages);

// Failure where what is needed was not observed, or a simulation fails.
[[nodiscard]] Result<Comparison> compare(PipelineStudy study, const PipelineObservations& observed);

}  // namespace millrace::report
