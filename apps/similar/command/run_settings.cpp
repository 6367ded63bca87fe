#include "similar/command/run_settings.h"

#include "millrace/base/json_file.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/stream/run/run_report_json.h"
#include "similar/run/image_list.h"
#include "similar/run/photo_stages.h"

#include <numeric>
#include <utility>

#include <nlohmann/json.hpp>

namespace millrace::similar {

void RunSettings::add_options(CLI::App& verb) {
  verb.add_option("--strategy", strategy,
                  "how the work is divided: pools, oversubscribed, collapsed, stealing, tbb, auto (the "
                  "default)");
  verb.add_option("--threads", threads, "worker threads; default: as many as this process may use")
      ->check(CLI::Range(1, 4096));
  verb.add_flag("--oversubscribe", oversubscribe, "allow more threads than this process may use CPUs");
  verb.add_option("--tokens", tokens, "images in progress at most; default: by strategy and threads")
      ->check(CLI::Range(1, 1 << 20));
  verb.add_option("--readers", readers,
                  "four stages instead of six: names, so many threads that read, all computing as one, "
                  "output; default: one thread reads, six stages")
      ->check(CLI::Range(1, most_readers));
  verb.add_option("--queue", queue,
                  "images that wait in front of a stage at most, with pools, oversubscribed and collapsed; "
                  "default: 20")
      ->check(CLI::Range(1, stream::most_tokens));
  verb.add_option("--memory", memory, "bytes that images in progress may take; default: 128M")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::size_t{1} << 20, std::size_t{1} << 40));
  verb.add_option("--json", json, "write a report to a file, or - for standard output");
  verb.add_option("--trace", trace,
                  "write when each thread did what to a file, for chrome://tracing or ui.perfetto.dev");
  verb.add_flag(overwrite_flag, force, overwrite_help);
  verb.add_flag("-q,--quiet", quiet, "no progress line and no summary");
}

Result<RunMeans> means_of(const RunSettings& settings) {
  const auto strategy = stream::parse_strategy(settings.strategy);
  if (!strategy) return std::unexpected(strategy.error());
  const auto machine = machine::inspect_machine();
  if (!machine) return std::unexpected(machine.error());
  const int limit = machine->usable.worker_limit;
  if (settings.threads > limit && !settings.oversubscribe)
    return usage_error("--threads {} is more than the {} that affinity mask, cpuset and quota allow here; "
                       "give no more, or --oversubscribe",
                       settings.threads, limit);
  auto pool = pool::WorkerPool::create(settings.threads > 0 ? settings.threads : limit);
  if (!pool) return std::unexpected(pool.error());
  stream::RunOptions options{.strategy = *strategy,
                             .tokens = settings.tokens,
                             .byte_budget = settings.memory,
                             .queue_depth = settings.queue,
                             .trace =
                                 settings.trace.empty() ? stream::Trace::summary : stream::Trace::events};
  return RunMeans{std::move(*pool), std::move(options)};
}

Status check_reports(const RunSettings& settings, std::initializer_list<NamedPath> outputs,
                     const NamedPath& index) {
  for (const auto& [role, path] : outputs)
    if (is_image_name(path))
      return usage_error("'{}' is the name of an image, and {} would replace it; name another file", path,
                         role);
  return check_outputs(outputs, overwrite_if(settings.force), index);
}

std::string stage_shares(const stream::RunReport& report) {
  const double all = std::accumulate(report.stages.begin(), report.stages.end(), 0.0,
                                     [](double sum, const auto& stage) { return sum + stage.busy_s; });
  std::string text;
  for (const stream::StageReport& stage : report.stages)
    text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", stage.name,
                        all > 0 ? 100 * stage.busy_s / all : 0.0);
  return text;
}

Status write_reports(const RunSettings& settings, const nlohmann::json& json,
                     const stream::RunReport& report) {
  if (!settings.json.empty())
    if (Status written = write_json(json, settings.json, overwrite_if(settings.force)); !written)
      return written;
  if (!settings.trace.empty())
    return write_json(stream::chrome_trace(report), settings.trace, overwrite_if(settings.force));
  return {};
}

}  // namespace millrace::similar
