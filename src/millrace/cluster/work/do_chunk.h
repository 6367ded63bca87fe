// Processes one chunk of a plan.
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
  std::string folder;  // of the parts; must exist
  std::string input;   // the input on this machine; empty: as in the plan
  int threads = 0;     // workers; 0: as many as the execution context has
  bool no_profile = false;
  std::string shared;  // folder shared by the machines of a job for their findings; empty: none
  std::stop_token stop;
  std::function<void(const run::RunProgress&)> on_progress;
};

struct ChunkOutcome {
  bool skipped = false;  // a valid part already existed
  PartRecord part;
  run::RunRecord run;  // unless skipped
};

// Returns a usage error if the part or its record is a link. Fails if the input differs from the plan's, a
// frame of the chunk cannot be read, or the part cannot be written. After a failure there is no part under
// its name, or the earlier one is unchanged.
[[nodiscard]] Result<ChunkOutcome> do_chunk(const JobPlan& plan, std::int64_t chunk,
                                            run::ExecutionContext& context, const ChunkOptions& options);

// Returns a usage error if the plan has no such chunk.
[[nodiscard]] Status check_number(const JobPlan& plan, std::int64_t chunk);

// Fails if the file is not the one that the plan was made from.
[[nodiscard]] Status check_same_input(const JobPlan& plan, const std::string& file);

}  // namespace millrace::cluster
