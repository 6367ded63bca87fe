// Reports the results of a batch, for people and for programs.
#pragma once

#include "millrace/cli/batch/batch_options.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/run/batch/batch.h"

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace millrace::cli {

struct BatchReport {
  struct Job {
    const PlannedJob* planned = nullptr;
    std::int64_t frames_before = 0;  // of a job done by an earlier batch
    bool skipped = false;
    run::BatchResult result;  // of a job that was not skipped
  };
  std::vector<Job> jobs;
  double wall_seconds = 0;
  int most_side_by_side = 0;
  std::uint64_t memory_bytes = 0;  // the budget
  std::int64_t peak_rss_bytes = 0;
  std::vector<std::string> decisions;

  // Totals of this batch.
  [[nodiscard]] std::int64_t frames() const;
  [[nodiscard]] std::uint64_t output_bytes() const;
};

// "done", "failed", "interrupted", "not begun", "skipped".
[[nodiscard]] std::string_view state_of(const BatchReport::Job& job);
[[nodiscard]] int count(const BatchReport& report, std::string_view state);

[[nodiscard]] std::string to_text(const BatchReport& report, bool explain);
[[nodiscard]] nlohmann::ordered_json to_json(const BatchReport& report,
                                             const machine::MachineReport& machine);

}  // namespace millrace::cli
