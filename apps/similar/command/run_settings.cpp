#include "similar/command/run_settings.h"

#include "millrace/base/file/json_file.h"
#include "millrace/base/options/option_values.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/stream/run/run_report_json.h"
#include "similar/run/image_list.h"
#include "similar/run/photo_stages.h"

#include <numeric>
#include <utility>

#include <nlohmann/json.hpp>

namespace millrace::similar {

void RunSettings::add_options(CLI::App& verb) {
  add_overwrite_flag(verb, force);
  verb.add_option("--threads", threads, "Worker threads")
      ->check(between(1, 4096))
      ->default_str("one for each usable CPU");
  verb.add_flag("-q,--quiet", quiet, "Print no progress line and no summary");
  verb.option_defaults()->group("Execution and reports");
  OptionWords strategies;
  for (const stream::Strategy known : stream::all_strategies())
    strategies.emplace_back(stream::strategy_name(known));
  verb.add_option("--strategy", strategy, "Strategy of the stream runtime")
      ->option_text("NAME")
      ->check(one_of(strategies))
      ->default_str("auto");
  verb.add_flag("--oversubscribe", oversubscribe, "Allow more threads than usable CPUs");
  verb.add_option("--tokens", tokens, "Images in progress at most")
      ->check(between(1, 1 << 20))
      ->default_str("by strategy and threads");
  verb.add_option("--readers", readers,
                  "Threads that read, for a pipeline of four stages: names, reading, computing, output")
      ->check(between(1, most_readers))
      ->default_str("one, in a pipeline of six stages");
  verb.add_option("--queue", queue,
                  "Images that wait for a stage at most, for pools, oversubscribed and collapsed")
      ->check(between(1, stream::most_tokens))
      ->default_str("20");
  verb.add_option("--memory", memory, "Bytes that images in progress may take")
      ->option_text("SIZE")
      ->transform(byte_count(std::uint64_t{1} << 20, std::uint64_t{1} << 40))
      ->default_str("128M");
  verb.add_option("--json", json, "Write a report to a file, or - for standard output")->option_text("FILE");
  verb.add_option("--trace", trace,
                  "Write a timeline of the threads (JSON) for chrome://tracing or ui.perfetto.dev")
      ->option_text("FILE");
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
  return check_outputs(outputs, overwrite_if(settings.force), {index});
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
