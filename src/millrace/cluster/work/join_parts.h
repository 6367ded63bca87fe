// Joins the parts of a plan.
#pragma once

#include "millrace/base/overwrite.h"
#include "millrace/cluster/plan/job_plan.h"
#include "millrace/video/join.h"

#include <functional>
#include <stop_token>
#include <string>

namespace millrace::cluster {

struct JoinPartsOptions {
  std::string folder;
  std::string output;
  std::string input;  // where this machine has it; empty: where the plan says
  Overwrite overwrite = Overwrite::no;
  // Called when the parts are known to be good, before the output is opened.
  std::function<Status()> check_output;
  std::stop_token stop;
};

// All parts, by packet copy, with what the input has beside its video. Failure that says which chunks to do
// where parts are missing, damaged or of another plan.
[[nodiscard]] Result<video::JoinedFile> join_parts(const JobPlan& plan, const JoinPartsOptions& options);

}  // namespace millrace::cluster
