// What the user asked `millrace batch` for, and the jobs that it means.
#pragma once

#include "millrace/image/pipeline/pipeline.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/run/batch/batch.h"
#include "millrace/run/batch/kept_record.h"
#include "millrace/run/words/run_options.h"

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

namespace millrace::cli {

struct BatchOptions {
  run::RunOptions run;             // what jobs have in common, but for pipeline, input and output
  std::vector<std::string> words;  // PIPELINE INPUT..., or with a job file nothing or PIPELINE
  std::string job_file;
  std::string output;  // a pattern or a folder; empty where none is given
  std::string suffix;
  std::string memory;    // as "2G"; empty: half of what is to be had
  int side_by_side = 0;  // 0: chosen
  bool resume = false;
};

// What is wrong with an empty one that is given: a variable of a script that is not set. Hours of work would
// go nowhere.
inline constexpr const char* no_output_name =
    "the output has no name; give 'null' where nothing is to be kept";

// A job as it will be run.
struct PlannedJob {
  run::RunOptions options;
  image::Pipeline pipeline;
  std::string pipeline_text;  // in one spelling
  run::JobIdentity identity;
};

// All jobs, in the order they were given. Usage errors, with file and line where they are from a job file; of
// what is wrong with the jobs together too: two have one output. Interrupted where it is stopped.
[[nodiscard]] Result<std::vector<PlannedJob>> plan_jobs(const BatchOptions& options, int worker_limit,
                                                        const std::stop_token& stop);

// What a run of it is told.
[[nodiscard]] Result<run::BatchJob> batch_job_of(const PlannedJob& job, int worker_limit);

// "1500M", "2G", "2GiB", or bytes.
[[nodiscard]] Result<std::uint64_t> parse_bytes(const std::string& text);

}  // namespace millrace::cli
