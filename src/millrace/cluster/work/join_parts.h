// Joins the parts of a plan.
#pragma once

#include "millrace/base/file/overwrite.h"
#include "millrace/cluster/plan/job_plan.h"
#include "millrace/video/join.h"

#include <functional>
#include <stop_token>
#include <string>

namespace millrace::cluster {

struct JoinPartsOptions {
  std::string folder;
  std::string output;
  std::string input;  // the input on this machine; empty: as in the plan
  Overwrite overwrite = Overwrite::no;
  // Called after the parts were verified, before the output is opened.
  std::function<Status()> check_output;
  std::stop_token stop;
};

// Joins all parts by packet copy and adds the input's other streams and properties. If parts are missing,
// damaged or of another plan, it fails and says which chunks to process.
[[nodiscard]] Result<video::JoinedFile> join_parts(const JobPlan& plan, const JoinPartsOptions& options);

}  // namespace millrace::cluster
