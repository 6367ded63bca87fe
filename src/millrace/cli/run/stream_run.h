// The main loop of `millrace run`: frames from a reader through the executor to a writer.
#pragma once

#include "millrace/base/interrupt.h"
#include "millrace/cli/run/run_options.h"
#include "millrace/cli/run/run_report.h"
#include "millrace/image/execute/executor.h"
#include "millrace/image/pipeline/pipeline.h"
#include "millrace/video/reader.h"

#include <memory>

namespace millrace::cli {

// What a run works with; all outlive it.
struct RunContext {
  const RunOptions& options;
  const image::Pipeline& pipeline;
  image::Planes planes;
  const image::Schedule& schedule;  // where it is fixed
  const machine::MachineReport& machine;
  image::Executor& executor;
  image::KernelLibrary& library;
  const Interrupt& interrupt;
  std::int64_t start_ns;  // of the process
};

// Its input; an interrupt ends every wait for it.
[[nodiscard]] Result<std::unique_ptr<video::FrameReader>> open_input(const RunContext& context);

// Fills in `report`, also where it fails: then the output is valid up to the frame that the Error names.
[[nodiscard]] Status stream_run(const RunContext& context, RunReport& report);

// --measure: computation alone, on frames in memory as floats, as the execution-structures paper measures it.
[[nodiscard]] Status measure_run(const RunContext& context, RunReport& report);

// --count: the pixels that each stage reads, by the scalar evaluator.
[[nodiscard]] Status count_run(const RunContext& context);

}  // namespace millrace::cli
