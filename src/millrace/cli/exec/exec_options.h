// The options of `millrace exec`.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/placement/run/run_program.h"

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <sys/types.h>

namespace millrace::cli {

struct ExecOptions {
  std::vector<std::string> command;
  std::optional<pid_t> attach;
  std::optional<std::string> policy;
  std::optional<std::string> sched;
  std::optional<double> slice_ms;
  std::optional<int> priority;
  std::string birth = "auto";
  std::string units = "off";
  std::string progress;
  std::string progress_from = "stderr";
  bool known_progress = true;
  std::optional<int> learn;
  bool profiles = true;
  bool quiet = false;
  std::string json;
  bool force = false;                         // json overwrites an existing file
  placement::IgnoredSignals ignored_signals;  // at the start of this process
};

void add_options(CLI::App& verb, ExecOptions& options);

// Usage error for invalid values. Reads rule files and loads policies.
[[nodiscard]] Result<placement::RunSettings> to_settings(const ExecOptions& options);

}  // namespace millrace::cli
