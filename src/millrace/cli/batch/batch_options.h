// Options of `millrace batch`, and the jobs planned from them.
#pragma once

#include "millrace/base/file/check_outputs.h"
#include "millrace/image/pipeline/pipeline.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/run/batch/batch.h"
#include "millrace/run/batch/kept_record.h"
#include "millrace/run/options/run_options.h"

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

namespace millrace::cli {

struct BatchOptions {
  run::RunOptions run;             // common to all jobs, except pipeline, input and output
  std::vector<std::string> words;  // PIPELINE INPUT..., or with a job file nothing or PIPELINE
  std::string job_file;
  std::string output;  // a pattern or a folder; empty if not given
  std::string suffix;
  std::string memory;    // for example "2G"; empty: half of the usable memory
  int side_by_side = 0;  // 0: chosen automatically
  bool resume = false;
};

// Message for an empty output name, usually from an unset variable in a script. Hours of work would be lost.
inline constexpr const char* no_output_name =
    "the output has no name; give 'null' where nothing is to be kept";

// A job that is ready to run.
struct PlannedJob {
  run::RunOptions options;
  image::Pipeline pipeline;
  std::string pipeline_text;  // canonical text
  run::JobIdentity identity;
};

// All jobs in the given order. Usage errors give file and line if they are from a job file, and include
// conflicts between jobs, such as two with one output. Interrupted if stopped.
[[nodiscard]] Result<std::vector<PlannedJob>> plan_jobs(const BatchOptions& options, int worker_limit,
                                                        const std::stop_token& stop);

// The job file and the pipelines' files, which no output may overwrite.
[[nodiscard]] std::vector<NamedPath> files_read_beside_inputs(const BatchOptions& options,
                                                              const std::vector<PlannedJob>& jobs);

// The settings of the job's run.
[[nodiscard]] Result<run::BatchJob> batch_job_of(const PlannedJob& job, int worker_limit);

// "1500M", "2G", "2GiB", or bytes.
[[nodiscard]] Result<std::uint64_t> parse_bytes(const std::string& text);

}  // namespace millrace::cli
