// Modes of `millrace run` that measure computation alone, without a stream.
#pragma once

#include "millrace/base/process/interrupt.h"
#include "millrace/image/pipeline/pipeline.h"
#include "millrace/run/options/run_options.h"
#include "millrace/run/options/run_report.h"
#include "millrace/run/video/execution_context.h"
#include "millrace/video/reader.h"

#include <memory>

namespace millrace::cli {

// Context of these commands; everything must outlive it.
struct RunRequest {
  const run::RunOptions& options;
  const image::Pipeline& pipeline;
  image::Planes planes;
  const image::Schedule& schedule;  // if it is fixed
  run::ExecutionContext& context;
  const Interrupt& interrupt;
};

// Usage error if measuring computation is combined with options that only affect a run from input to output.
[[nodiscard]] Status check_computation(const run::RunOptions& options);

// --measure: times computation alone, on frames in memory as floats, like the execution-structures paper.
[[nodiscard]] Status measure_run(const RunRequest& request, run::RunReport& report);

// --count: counts the pixels that each stage reads, with the scalar evaluator.
[[nodiscard]] Status count_run(const RunRequest& request);

}  // namespace millrace::cli
