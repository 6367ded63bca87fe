// A job of chunks and the machines that do it, read from TOML:
//
//   [job]
//   chunks = 720
//   work = 10             # seconds of a chunk on a machine of speed 1
//   variation = 0.2       # 0 unless said, as all that follows but speculation
//   bytes = 30e6          # read and written for a chunk
//   storage = 1e9         # bytes a second of the store that all share; 0: without limit
//   learning = 3          # seconds that a machine loses with its first chunk
//   shared_plans = true   # which the first machine of a kind loses for all that begin later
//   before = 2            # seconds alone: the plan
//   after = 5             # seconds alone: the join
//   overhead = 0.01       # seconds a chunk that the engine takes
//   speculation = true    # unless said
//   sizes = [1, 2, 4, 64] # so many machines in all; or as many as there are
//
//   [[machine]]
//   name = "new"
//   count = 4             # 1 unless said
//   speed = 2             # 1 unless said
//   start_up = 4          # seconds; 0 unless said, as all that follows
//   link = 125e6          # bytes a second; 0: without limit
//   taken_every = 3600    # seconds, on average; 0: never
//   taken_for = 120       # seconds until it is back
#pragma once

#include "millrace/model/cluster/cluster_case.h"

#include <string_view>

namespace millrace::model {

// Checked. Usage error that names the file, the line and what is wrong there.
[[nodiscard]] Result<ClusterCase> parse_cluster_toml(std::string_view text, std::string_view file_name);

}  // namespace millrace::model
