// Joins the parts of a plan.
#pragma once

#include "millrace/base/overwrite.h"
#include "millrace/cluster/plan/job_plan.h"

#include <stop_token>
#include <string>
#include <vector>

namespace millrace::cluster {

struct JoinPartsOptions {
  std::string folder;
  std::string output;
  std::string input;  // where this machine has it; empty: where the plan says
  Overwrite overwrite = Overwrite::no;
  std::stop_token stop;
};

// All parts, by packet copy, with what the input has beside its video. Failure that says which chunks to do
// where parts are missing, damaged or of another plan. Returns what of the input is not in the output.
[[nodiscard]] Result<std::vector<std::string>> join_parts(const JobPlan& plan,
                                                          const JoinPartsOptions& options);

}  // namespace millrace::cluster
