// The experiments of the analytical pipeline paper: the settings of the two programs, and the comparison with
// the paper. Pure: observations in, comparisons out.
#pragma once

#include "millrace/base/error/result.h"
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
// A few words, for a list.
[[nodiscard]] std::string_view title_of(PipelineStudy study);
[[nodiscard]] std::span<const PipelineStudy> all_pipeline_studies();

// Programs with the structure of the paper's two: millrace-similar for ferret, millrace-dedup for dedup.
enum class StudyProgram { similar, dedup };
[[nodiscard]] bool needs(PipelineStudy study, StudyProgram program);

// One way to run a program.
struct ProgramSetting {
  StudyProgram program = StudyProgram::similar;
  std::string strategy;
  int threads = 1;
  int tokens = 0;     // 0: the program's default
  int queue = 20;     // of similar
  int readers = 0;    // of similar
  bool cold = false;  // evict the input files from the page cache before each run
  int pes = 1;        // processing elements: CPUs to which it is pinned

  auto operator<=>(const ProgramSetting&) const = default;
};

struct StageTimes {
  std::string name;
  int threads = 1;             // at least 1
  std::vector<double> busy_s;  // by run, summed over its threads
};

struct ProgramRuns {
  std::vector<double> seconds;  // of the stream, by run
  std::vector<StageTimes> stages;
};

// The costs of a program's stages, from a run with one thread and one token on one CPU.
struct ServiceTimes {
  model::Pipeline pipeline;
  std::int64_t items = 0;
  double sequential_seconds = 0;
};

struct PipelineObservations {
  int pes = 1;  // that this process may use
  bool quick = false;
  std::map<StudyProgram, ServiceTimes> times;
  std::optional<ServiceTimes> four_stages;  // of similar with parallel input, read from the files' storage
  std::map<ProgramSetting, ProgramRuns> runs;
};

// The runs that a study needs with `pes` processing elements, in addition to those for service times.
[[nodiscard]] std::vector<ProgramSetting> settings_of(PipelineStudy study, int pes, bool quick);
// How service times are measured. four_stages: for PipelineObservations::four_stages.
[[nodiscard]] ProgramSetting service_setting(StudyProgram program, bool four_stages);

// Fails if an observation is missing or a simulation fails.
[[nodiscard]] Result<Comparison> compare(PipelineStudy study, const PipelineObservations& observed);

}  // namespace millrace::report
