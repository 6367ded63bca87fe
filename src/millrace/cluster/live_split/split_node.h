// A node of a live split: runs a section of a pipeline for the head.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/cluster/live_split/endpoint.h"
#include "millrace/run/video/execution_context.h"

#include <functional>
#include <stop_token>
#include <string>

namespace millrace::cluster {

struct SplitNodeOptions {
  Endpoint head;
  std::string token;
  double patience = 15;  // seconds to wait for the head
  bool stay = false;     // when the head has ended or is lost, wait for the next one without a time limit
  bool no_profile = false;
  std::stop_token stop;
  std::function<void(const std::string&)> on_note;  // called by several threads
};

// Waits for a section from the head, and runs it until the head says that the work is done. Listens only at
// the address by which it reaches the head. Call it on the thread that created the execution context. Returns
// a usage error if the head refuses the node, and fails if the head does not answer or is lost. With `stay`,
// it ends only when stopped or refused.
[[nodiscard]] Status serve_split(run::ExecutionContext& context, const SplitNodeOptions& options);

}  // namespace millrace::cluster
