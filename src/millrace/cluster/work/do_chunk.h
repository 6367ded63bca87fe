// Does one chunk of a plan.
#pragma once

#include "millrace/cluster/plan/job_plan.h"
#include "millrace/cluster/work/part.h"
#include "millrace/run/video/video_run.h"

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

namespace millrace::cluster {

struct ChunkOptions {
  std::string folder;  // of the parts; exists
  std::string input;   // where this machine has the input; empty: where the plan says
  int threads = 0;     // workers; 0: as many as the workplace has
  bool no_profile = false;
  std::string shared;  // folder of what the machines of the job learn; empty: none
  std::stop_token stop;
  std::function<void(const run::RunProgress&)> on_progress;
};

struct ChunkOutcome {
  bool skipped = false;  // it was there already, and is what it must be
  PartRecord part;
  run::RunRecord run;  // where it was not skipped
};

// Usage error where the part or its record is a link. Failure where the input is not the one of the plan,
// where a frame of the chunk cannot be had, or the part not be written: then there is no part under its name,
// or the one that was there before.
[[nodiscard]] Result<ChunkOutcome> do_chunk(const JobPlan& plan, std::int64_t chunk,
                                            run::Workplace& workplace, const ChunkOptions& options);

// Usage error where the plan has no such chunk.
[[nodiscard]] Status check_number(const JobPlan& plan, std::int64_t chunk);

// Whether the file is the one that the plan was made of. Failure that says so.
[[nodiscard]] Status check_same_input(const JobPlan& plan, const std::string& file);

}  // namespace millrace::cluster
