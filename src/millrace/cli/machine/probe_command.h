// `millrace machine --probe`: measures which resources PUs really share.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/base/options/json_output.h"

#include <optional>
#include <string>

namespace millrace::cli {

struct ProbeOptions {
  std::string cpus;  // a list; "": all usable CPUs
  bool watch = false;
  double every_s = 1;
  std::optional<int> times;
  JsonOutput json;  // with --watch one line per round, only on standard output
};

[[nodiscard]] Status probe_machine(const ProbeOptions& options);

}  // namespace millrace::cli
