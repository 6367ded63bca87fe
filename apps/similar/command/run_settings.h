// What both commands are told about how to run, and what they tell about it.
#pragma once

#include "millrace/base/check_outputs.h"
#include "millrace/base/error_line.h"
#include "millrace/base/result.h"
#include "millrace/pool/worker_pool.h"
#include "millrace/stream/run/run_options.h"
#include "millrace/stream/run/run_report.h"

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

namespace millrace::similar {

// What a command does. Its Error becomes one line on standard error and the exit code; a value is an exit
// code by itself.
using Action = std::function<Result<int>()>;

// The exit code of a command that did all but images that could not be read.
inline constexpr int some_unreadable = 3;

// What its messages begin with.
inline constexpr std::string_view program_name = "millrace-similar";

struct RunSettings {
  std::string strategy = "auto";
  int threads = 0;             // 0: as many as the process may use
  bool oversubscribe = false;  // let threads be more than that
  int tokens = 0;
  int readers = 0;  // threads that read files, with all computing as one stage; 0: the source reads
  int queue = stream::RunOptions{}.queue_depth;
  std::size_t memory = std::size_t{128} << 20;
  std::string json;    // file or "-"; empty for none
  std::string trace;   // file or "-"; empty for none
  bool force = false;  // outputs that exist are overwritten
  bool quiet = false;

  void add_options(CLI::App& verb);
};

// Usage error as of check_outputs(), and, whatever the settings say, for a report that would take the place
// of an image, as when the name behind an option was forgotten and the next word is taken for it, or of the
// index that is written or read.
[[nodiscard]] Status check_reports(const RunSettings& settings, std::initializer_list<NamedPath> outputs,
                                   const NamedPath& index);

// The pool and the options that the settings ask for. Usage error for what this process may not have.
struct RunMeans {
  std::unique_ptr<pool::WorkerPool> pool;
  stream::RunOptions options;
};
[[nodiscard]] Result<RunMeans> means_of(const RunSettings& settings);

// "load 21 %, segment 15 %": each stage's share of the time spent in stages.
[[nodiscard]] std::string stage_shares(const stream::RunReport& report);

// The JSON report and the trace, where the settings ask for them.
[[nodiscard]] Status write_reports(const RunSettings& settings, const nlohmann::json& json,
                                   const stream::RunReport& report);

}  // namespace millrace::similar
