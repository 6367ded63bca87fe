// Reads a job of chunks and the machines that do it from TOML:
//
//   [job]
//   chunks = 720
//   work = 10             # seconds of a chunk on a machine of speed 1
//   variation = 0.2       # default 0, like all that follow except speculation
//   bytes = 30e6          # read and written per chunk
//   storage = 1e9         # bytes per second of the shared store; 0: unlimited
//   learning = 3          # seconds that a machine loses in its first chunk
//   shared_plans = true   # only the first machine of a kind loses them, not those that begin later
//   before = 2            # sequential seconds: the plan
//   after = 5             # sequential seconds: the join
//   overhead = 0.01       # seconds per chunk that the engine takes
//   speculation = true    # the default
//   sizes = [1, 2, 4, 64] # total numbers of machines to simulate; default: the actual number
//
//   [[machine]]
//   name = "new"
//   count = 4             # default 1
//   speed = 2             # default 1
//   start_up = 4          # seconds; default 0, like all that follow
//   link = 125e6          # bytes per second; 0: unlimited
//   taken_every = 3600    # mean seconds between preemptions; 0: never
//   taken_for = 120       # seconds until it is back
#pragma once

#include "millrace/model/cluster/cluster_case.h"

#include <string_view>

namespace millrace::model {

// The result is checked. Usage errors name the file, the line and the problem.
[[nodiscard]] Result<ClusterCase> parse_cluster_toml(std::string_view text, std::string_view file_name);

}  // namespace millrace::model
