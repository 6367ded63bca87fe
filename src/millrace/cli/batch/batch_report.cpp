#include "millrace/cli/batch/batch_report.h"

#include "millrace/base/numbers/counted.h"
#include "millrace/base/text/byte_count.h"
#include "millrace/base/text/printable.h"
#include "millrace/run/options/run_report.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::cli {

std::int64_t BatchReport::frames() const {
  std::int64_t sum = 0;
  for (const Job& job : jobs)
    sum += job.result.record.frames;
  return sum;
}

std::uint64_t BatchReport::output_bytes() const {
  std::uint64_t sum = 0;
  for (const Job& job : jobs)
    sum += job.result.record.written_as.bytes.value_or(0);
  return sum;
}

namespace {

// "; wrote 3 outputs, 12.1 MB (H.264)"
std::string written_text(const BatchReport& report) {
  int outputs = 0;
  std::set<std::string> titles;
  for (const BatchReport::Job& job : report.jobs) {
    const video::WrittenAs& written = job.result.record.written_as;
    if (!written.bytes) continue;
    ++outputs;
    if (!written.title.empty()) titles.insert(written.title);
  }
  if (outputs == 0) return "";
  return fmt::format("; wrote {}, {}{}", counted(outputs, "output"),
                     bytes_text(static_cast<double>(report.output_bytes())),
                     titles.empty() ? "" : fmt::format(" ({})", fmt::join(titles, ", ")));
}

}  // namespace

std::string_view state_of(const BatchReport::Job& job) {
  if (job.skipped || job.result.skipped) return "skipped";
  if (!job.result.begun) return "not begun";
  if (job.result.outcome) return "done";
  return job.result.outcome.error().kind == ErrorKind::interrupted ? "interrupted" : "failed";
}

int count(const BatchReport& report, std::string_view state) {
  return static_cast<int>(
      std::ranges::count_if(report.jobs, [&](const auto& job) { return state_of(job) == state; }));
}

std::string to_text(const BatchReport& report, bool explain) {
  std::string text;
  if (explain) {
    for (const std::string& line : report.decisions)
      text += printable(line) + "\n";
    for (const BatchReport::Job& job : report.jobs) {
      const std::string bound = run::describe_bottleneck(job.result.record);
      if (!bound.empty()) text += fmt::format("{}: {}", printable(job.planned->options.input), bound);
    }
  }
  text += fmt::format("{}: {} done", counted(report.jobs.size(), "job"), count(report, "done"));
  for (const std::string_view state : {"skipped", "failed", "interrupted", "not begun"})
    if (const int jobs = count(report, state); jobs > 0) text += fmt::format(", {} {}", jobs, state);
  const std::int64_t frames = report.frames();
  if (frames > 0)
    text += fmt::format("; {} in {:.2f} s: {:.1f} fps, up to {} side by side", counted(frames, "frame"),
                        report.wall_seconds, static_cast<double>(frames) / report.wall_seconds,
                        report.most_side_by_side);
  return text + written_text(report) + "\n";
}

nlohmann::ordered_json to_json(const BatchReport& report, const machine::MachineReport& machine) {
  nlohmann::ordered_json jobs = nlohmann::ordered_json::array();
  for (const BatchReport::Job& job : report.jobs) {
    const run::RunOptions& options = job.planned->options;
    nlohmann::ordered_json entry{{"input", options.input},
                                 {"output", options.output},
                                 {"pipeline", job.planned->pipeline_text},
                                 {"state", state_of(job)}};
    const bool skipped = state_of(job) == "skipped";
    if (skipped) entry["frames"] = job.frames_before;
    if (!skipped && job.result.begun) {
      if (!job.result.outcome) entry["error"] = job.result.outcome.error().message;
      entry["seconds"] = job.result.seconds;
      const run::RunReport run{.pipeline = job.planned->pipeline_text,
                               .input = options.input,
                               .output = options.output,
                               .command = {},  // of the batch
                               .graph = job.planned->pipeline,
                               .record = job.result.record,
                               .ended_early = job.result.outcome ? "" : job.result.outcome.error().message};
      nlohmann::ordered_json record = to_json(run, machine);
      record.erase("command");
      record.erase("machine");         // once for all jobs
      record.erase("peak_rss_bytes");  // of the process
      entry["run"] = std::move(record);
    }
    jobs.push_back(std::move(entry));
  }
  const std::int64_t frames = report.frames();
  return {{"jobs", std::move(jobs)},
          {"done", count(report, "done")},
          {"skipped", count(report, "skipped")},
          {"failed", count(report, "failed")},
          {"frames", frames},
          {"output_bytes", report.output_bytes()},
          {"wall_seconds", report.wall_seconds},
          {"fps", report.wall_seconds > 0 ? static_cast<double>(frames) / report.wall_seconds : 0},
          {"most_side_by_side", report.most_side_by_side},
          {"memory_bytes", report.memory_bytes},
          {"peak_rss_bytes", report.peak_rss_bytes},
          {"decisions", report.decisions},
          {"machine", machine::to_json(machine)}};
}

}  // namespace millrace::cli
