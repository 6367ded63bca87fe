// `millrace run` without a stream: what looks at computation alone.
#pragma once

#include "millrace/base/interrupt.h"
#include "millrace/image/pipeline/pipeline.h"
#include "millrace/run/video/workplace.h"
#include "millrace/run/words/run_options.h"
#include "millrace/run/words/run_report.h"
#include "millrace/video/reader.h"

#include <memory>

namespace millrace::cli {

// What a command works with; all outlive it.
struct RunContext {
  const run::RunOptions& options;
  const image::Pipeline& pipeline;
  image::Planes planes;
  const image::Schedule& schedule;  // where it is fixed
  run::Workplace& workplace;
  const Interrupt& interrupt;
};

// Usage error where what looks at computation alone was asked for with what only a run from input to output
// has any use for.
[[nodiscard]] Status check_computation(const run::RunOptions& options);

// --measure: computation alone, on frames in memory as floats, as the execution-structures paper measures it.
[[nodiscard]] Status measure_run(const RunContext& context, run::RunReport& report);

// --count: the pixels that each stage reads, by the scalar evaluator.
[[nodiscard]] Status count_run(const RunContext& context);

}  // namespace millrace::cli
