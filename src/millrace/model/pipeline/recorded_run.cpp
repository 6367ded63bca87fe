#include "millrace/model/pipeline/recorded_run.h"

#include "millrace/base/histogram.h"
#include "millrace/base/quoted.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

namespace millrace::model {
namespace {

using nlohmann::json;

std::unexpected<Error> wrong(std::string_view file, std::string_view what) {
  return usage_error("{}: {}; give the report that a run with tracing wrote", file, what);
}

// 0 or more; nothing when it is missing or anything else.
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

Result<ServiceTime> service_time(const json& stage, double items, std::string_view where) {
  const double busy = number(stage, "busy_s").value_or(0);
  const auto recorded = stage.find("service_s");
  if (recorded != stage.end()) {
    const auto histogram = Histogram::from_json(*recorded);
    if (!histogram) return wrong(where, histogram.error().message);
    std::vector<HistogramBin> bins;
    for (const auto& bucket : histogram->buckets())
      bins.push_back({bucket.lower, bucket.upper,
                      static_cast<std::int64_t>(std::min<std::uint64_t>(bucket.count, 1ULL << 62U))});
    if (!bins.empty()) {
      auto shape = ServiceTime::from_histogram(bins);
      if (!shape) return wrong(where, shape.error().message);
      // The buckets give the shape; the mean is known better than they tell.
      return shape->mean_seconds() > 0 ? shape->scaled(histogram->mean() / shape->mean_seconds()) : *shape;
    }
  }
  return ServiceTime::with_variation(items > 0 ? busy / items : 0, 1);
}

// As the report names them.
std::optional<StageKind> kind_of(std::string_view name) {
  if (name == "parallel") return StageKind::parallel;
  if (name == "serial in order") return StageKind::ordered;
  if (name == "serial as they come") return StageKind::serial;
  return std::nullopt;
}

}  // namespace

Result<RecordedRun> parse_recorded_run(std::string_view content, std::string_view file_name) {
  json root = json::parse(content, nullptr, false);
  // A program's report has that of its stream within.
  if (root.is_object() && text(root, "schema") != "millrace.stream.run" && root.contains("run"))
    root = json(root["run"]);
  if (!root.is_object() || text(root, "schema") != "millrace.stream.run")
    return wrong(file_name, "not the report of a run (\"schema\": \"millrace.stream.run\")");
  const auto stages = root.find("stages");
  if (stages == root.end() || !stages->is_array() || stages->empty())
    return wrong(file_name, "no \"stages\"");
  const auto wall = number(root, "wall_s");
  if (!wall) return wrong(file_name, "no \"wall_s\"");
  RecordedRun run{.strategy = text(root, "strategy"),
                  .threads = static_cast<int>(std::min(1e6, number(root, "threads").value_or(0))),
                  .tokens = static_cast<int>(std::min(1e9, number(root, "tokens").value_or(0))),
                  .wall_seconds = *wall};
  double arriving = 0;
  for (const json& entry : *stages) {
    if (!entry.is_object()) return wrong(file_name, "a stage that is no object");
    Stage stage{.name = text(entry, "name")};
    const std::string where = fmt::format("{}: stage {}", file_name, millrace::quoted(stage.name));
    const auto in = number(entry, "items_in");
    const auto out = number(entry, "items_out");
    if (!in || !out) return wrong(where, "no \"items_in\" or \"items_out\"");
    const bool source = run.pipeline.stages.empty();
    const auto kind = source ? StageKind::serial : kind_of(text(entry, "kind"));
    if (!kind) return wrong(where, fmt::format("unknown kind {}", millrace::quoted(text(entry, "kind"))));
    stage.kind = *kind;
    const auto blocking = entry.find("blocking");
    stage.waits = blocking != entry.end() && blocking->is_boolean() && blocking->get<bool>();
    auto service = service_time(entry, *in, where);
    if (!service) return std::unexpected(service.error());
    stage.service = *service;
    if (source) {
      if (*in < 1) return wrong(where, "no items");
      run.items = static_cast<std::int64_t>(*in);
      stage.outputs = *out / *in;
      arriving = *out;
    } else {
      // The last stage's items go nowhere further.
      const bool last = run.pipeline.stages.size() + 1 == stages->size();
      if (*in > 0 && !last) stage.outputs = *out / *in;
      if (arriving > 0 && *in > 0) stage.visits = std::clamp(*in / arriving, 1e-9, 1.0);
      if (*in <= 0) stage.service = ServiceTime::constant(0);
      arriving = std::max(0.0, arriving - *in) + (last || *in <= 0 ? *in : *out);
    }
    run.pipeline.stages.push_back(std::move(stage));
    run.busy_seconds.push_back(number(entry, "busy_s").value_or(0));
  }
  if (const Status possible = check(run.pipeline); !possible)
    return usage_error("{}: {}", file_name, possible.error().message);
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
