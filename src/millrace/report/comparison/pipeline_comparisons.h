// One function for each of the pipeline studies. Internal to them.
#pragma once

#include "millrace/report/comparison/observed_program.h"

namespace millrace::report::pipelines {

[[nodiscard]] Result<Comparison> table1(const PipelineObservations& observed, const ObservedProgram& program);
[[nodiscard]] Result<Comparison> table2(const PipelineObservations& observed, const ObservedProgram& similar,
                                        const ObservedProgram& dedup);
// Figures 2 and 4.
[[nodiscard]] Result<Comparison> breakdown(const PipelineObservations& observed,
                                           const ObservedProgram& program, StudyProgram which);
[[nodiscard]] Result<Comparison> fig6b(const PipelineObservations& observed, const ObservedProgram& program);
[[nodiscard]] Result<Comparison> fig9(const PipelineObservations& observed, const ObservedProgram& program);
[[nodiscard]] Result<Comparison> fig10b(const PipelineObservations& observed, const ObservedProgram& program);
[[nodiscard]] Result<Comparison> fig11(const PipelineObservations& observed, const ObservedProgram& program);

}  // namespace millrace::report::pipelines
