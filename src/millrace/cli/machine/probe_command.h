// `millrace machine --probe`: what PUs share in truth.
#pragma once

#include "millrace/base/json_output.h"
#include "millrace/base/result.h"

#include <optional>
#include <string>

namespace millrace::cli {

struct ProbeOptions {
  std::string cpus;  // a list; "": all that can be used
  bool watch = false;
  double every_s = 1;
  std::optional<int> times;
  JsonOutput json;  // of --watch a line for each round, on standard output alone
};

[[nodiscard]] Status probe_machine(const ProbeOptions& options);

}  // namespace millrace::cli
