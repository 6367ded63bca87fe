// The settings and thread counts of the pipeline studies. Internal to them.
#pragma once

#include "millrace/report/comparison/pipeline_studies.h"

#include <algorithm>
#include <array>
#include <vector>

namespace millrace::report::pipelines {

inline constexpr std::array doubled{1, 2, 4, 8, 16, 32, 64};
inline constexpr int paper_queue = 20;
inline constexpr int similar_tokens = 5;  // per thread
inline constexpr int dedup_tokens = 3;
inline constexpr int fig11_workers = 64;
inline constexpr int oversubscription = 2;  // threads per core

// Powers of two below the number of processing elements, and that number.
inline std::vector<int> measured_counts(int pes) {
  std::vector<int> counts;
  for (const int count : doubled)
    if (count < pes) counts.push_back(count);
  counts.push_back(pes);
  return counts;
}
// The paper's thread counts and the measured ones.
inline std::vector<int> all_counts(int pes, int most) {
  std::vector<int> counts = measured_counts(pes);
  for (const int count : doubled)
    if (count <= most) counts.push_back(count);
  std::ranges::sort(counts);
  const auto again = std::ranges::unique(counts);
  counts.erase(again.begin(), again.end());
  return counts;
}

inline ProgramSetting pools_of(StudyProgram program, int threads, int pes) {
  return {
      .program = program, .strategy = "oversubscribed", .threads = threads, .queue = paper_queue, .pes = pes};
}
inline ProgramSetting collapsed_of(StudyProgram program, int threads, int pes) {
  return {.program = program, .strategy = "collapsed", .threads = threads, .queue = paper_queue, .pes = pes};
}
inline ProgramSetting tasks_of(StudyProgram program, const char* strategy, int tokens, int pes,
                               int readers = 0) {
  return {.program = program,
          .strategy = strategy,
          .threads = pes,
          .tokens = tokens,
          .readers = readers,
          .pes = pes};
}
inline ProgramSetting parallel_input(const char* strategy, int readers, int workers, int pes) {
  return {.program = StudyProgram::similar,
          .strategy = strategy,
          .threads = workers,
          .readers = readers,
          .cold = true,
          .pes = pes};
}
inline constexpr std::array reader_counts{1, 2, 4, 8, 16};

}  // namespace millrace::report::pipelines
