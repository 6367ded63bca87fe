// Options and reports that both commands share.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/base/file/check_outputs.h"
#include "millrace/base/text/error_line.h"
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

// The work of a command. An Error becomes one line on standard error and the exit code; a value is the exit
// code.
using Action = std::function<Result<int>()>;

// Exit code if everything succeeded except for images that could not be read.
inline constexpr int some_unreadable = 3;

// Prefix of messages.
inline constexpr std::string_view program_name = "millrace-similar";

struct RunSettings {
  std::string strategy = "auto";
  int threads = 0;             // 0: as many as the process may use
  bool oversubscribe = false;  // allow more threads than that
  int tokens = 0;
  int readers = 0;  // threads that read files, with all computing as one stage; 0: the source reads
  int queue = stream::RunOptions{}.queue_depth;
  std::size_t memory = std::size_t{128} << 20;
  std::string json;    // file or "-"; empty for none
  std::string trace;   // file or "-"; empty for none
  bool force = false;  // overwrite existing outputs
  bool quiet = false;

  void add_options(CLI::App& verb);
};

// Usage errors of check_outputs(). In addition, a report must not replace an image or the index, whatever the
// settings say. That happens if the value of an option was forgotten and the next word is taken for it.
[[nodiscard]] Status check_reports(const RunSettings& settings, std::initializer_list<NamedPath> outputs,
                                   const NamedPath& index);

// The pool and the options for the settings. Usage error if they exceed what this process may have.
struct RunMeans {
  std::unique_ptr<pool::WorkerPool> pool;
  stream::RunOptions options;
};
[[nodiscard]] Result<RunMeans> means_of(const RunSettings& settings);

// "load 21 %, segment 15 %": each stage's share of the time spent in stages.
[[nodiscard]] std::string stage_shares(const stream::RunReport& report);

// Writes the JSON report and the trace if the settings ask for them.
[[nodiscard]] Status write_reports(const RunSettings& settings, const nlohmann::json& json,
                                   const stream::RunReport& report);

}  // namespace millrace::similar
