#include "millrace/model/pipeline/recorded_run.h"

#include "millrace/base/numbers/histogram_json.h"
#include "millrace/base/text/in_quotes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

namespace millrace::model {
namespace {

using nlohmann::json;

std::unexpected<Error> no_report(std::string_view file, std::string_view what) {
  return usage_error("{}: {}; give the report that a run with tracing wrote", file, what);
}

// A number >= 0. Empty if it is missing or anything else.
std::optional<double> number(const json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const auto value = found->get<double>();
  if (!(value >= 0 && value <= 1e15)) return std::nullopt;
  return value;
}

std::string text(const json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Result<ServiceTime> service_time(const RecordedStage& stage) {
  std::vector<HistogramBin> bins;
  for (const auto& bucket : stage.service_s.buckets())
    bins.push_back({bucket.lower, bucket.upper,
                    static_cast<std::int64_t>(std::min<std::uint64_t>(bucket.count, 1ULL << 62U))});
  if (bins.empty())
    return ServiceTime::with_variation(stage.items_in > 0 ? stage.busy_s / stage.items_in : 0, 1);
  auto shape = ServiceTime::from_histogram(bins);
  if (!shape) return shape;
  // The buckets give the shape. The recorded mean is more precise than theirs.
  return shape->mean_seconds() > 0 ? shape->scaled(stage.service_s.mean() / shape->mean_seconds()) : *shape;
}

// Names as in the report.
std::optional<StageKind> kind_of(std::string_view name) {
  if (name == "parallel") return StageKind::parallel;
  if (name == "serial in order") return StageKind::ordered;
  if (name == "serial as they come") return StageKind::serial;
  return std::nullopt;
}

}  // namespace

Result<Pipeline> recorded_pipeline(std::span<const RecordedStage> recorded) {
  Pipeline pipeline;
  double arriving = 0;
  for (const RecordedStage& entry : recorded) {
    const double in = entry.items_in;
    const double out = entry.items_out;
    Stage stage{.name = entry.name};
    const bool source = pipeline.stages.empty();
    stage.kind = source ? StageKind::serial : entry.kind;
    stage.waits = entry.waits;
    auto service = service_time(entry);
    if (!service) return usage_error("stage {}: {}", in_quotes(entry.name), service.error().message);
    stage.service = *service;
    if (source) {
      if (in < 1) return usage_error("stage {}: no items", in_quotes(entry.name));
      stage.outputs = out / in;
      arriving = out;
    } else {
      // The last stage's items leave the stream.
      const bool last = pipeline.stages.size() + 1 == recorded.size();
      if (in > 0 && !last) stage.outputs = out / in;
      if (arriving > 0 && in > 0) stage.visits = std::clamp(in / arriving, 1e-9, 1.0);
      if (in <= 0) stage.service = ServiceTime::constant(0);
      arriving = std::max(0.0, arriving - in) + (last || in <= 0 ? in : out);
    }
    pipeline.stages.push_back(std::move(stage));
  }
  if (const Status possible = check(pipeline); !possible) return std::unexpected(possible.error());
  return pipeline;
}

Result<RecordedRun> parse_recorded_run(std::string_view content, std::string_view file_name) {
  json root = json::parse(content, nullptr, false);
  // A program's report contains that of its stream.
  if (root.is_object() && text(root, "schema") != "millrace.stream.run" && root.contains("run"))
    root = json(root["run"]);
  if (!root.is_object() || text(root, "schema") != "millrace.stream.run")
    return no_report(file_name, "not the report of a run (\"schema\": \"millrace.stream.run\")");
  const auto stages = root.find("stages");
  if (stages == root.end() || !stages->is_array() || stages->empty())
    return no_report(file_name, "no \"stages\"");
  const auto wall = number(root, "wall_s");
  if (!wall) return no_report(file_name, "no \"wall_s\"");
  RecordedRun run{.strategy = text(root, "strategy"),
                  .threads = static_cast<int>(std::min(1e6, number(root, "threads").value_or(0))),
                  .tokens = static_cast<int>(std::min(1e9, number(root, "tokens").value_or(0))),
                  .wall_seconds = *wall};
  std::vector<RecordedStage> recorded;
  for (const json& entry : *stages) {
    if (!entry.is_object()) return no_report(file_name, "a stage that is no object");
    RecordedStage stage{.name = text(entry, "name")};
    const std::string where = fmt::format("{}: stage {}", file_name, in_quotes(stage.name));
    const auto in = number(entry, "items_in");
    const auto out = number(entry, "items_out");
    if (!in || !out) return no_report(where, "no \"items_in\" or \"items_out\"");
    stage.items_in = *in;
    stage.items_out = *out;
    const auto kind = recorded.empty() ? StageKind::serial : kind_of(text(entry, "kind"));
    if (!kind) return no_report(where, fmt::format("unknown kind {}", in_quotes(text(entry, "kind"))));
    stage.kind = *kind;
    const auto blocking = entry.find("blocking");
    stage.waits = blocking != entry.end() && blocking->is_boolean() && blocking->get<bool>();
    stage.busy_s = number(entry, "busy_s").value_or(0);
    if (const auto service = entry.find("service_s"); service != entry.end()) {
      auto histogram = histogram_from_json(*service);
      if (!histogram) return no_report(where, histogram.error().message);
      stage.service_s = std::move(*histogram);
    }
    run.busy_seconds.push_back(stage.busy_s);
    recorded.push_back(std::move(stage));
  }
  auto pipeline = recorded_pipeline(recorded);
  if (!pipeline) return no_report(file_name, pipeline.error().message);
  run.items = static_cast<std::int64_t>(recorded.front().items_in);
  run.pipeline = std::move(*pipeline);
  return run;
}

Status set_slowdown(RecordedRun& run, const RecordedRun& beside, int busy_cores) {
  if (busy_cores < 2)
    return usage_error("a slowdown is between cores that are busy at once; give at least 2, not {}",
                       busy_cores);
  auto& stages = run.pipeline.stages;
  const auto& others = beside.pipeline.stages;
  if (!std::ranges::equal(stages, others, {}, &Stage::name, &Stage::name))
    return usage_error("the run beside others has other stages; record both with the same program");
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const double alone = stages[s].service.mean_seconds();
    if (!(alone > 0)) continue;
    const double longer = others[s].service.mean_seconds() / alone - 1;
    stages[s].slowdown = std::clamp(longer / (busy_cores - 1), 0.0, 1.0);
  }
  return {};
}

}  // namespace millrace::model
