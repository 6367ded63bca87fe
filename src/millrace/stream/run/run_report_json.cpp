#include "millrace/stream/run/run_report_json.h"

#include "millrace/base/numbers/histogram_json.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

namespace millrace::stream {
namespace {

using nlohmann::json;

constexpr const char* schema = "millrace.stream.run";
constexpr int version = 1;

// Reads the fields of an object. Stops after the first one that is missing or has the wrong type.
class Reader {
 public:
  Reader(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) problem_ = fmt::format("{} is not a JSON object", where_);
  }

  template <class T> void read(const char* name, T& value) {
    if (!problem_.empty()) return;
    const auto field = object_.find(name);
    if (field == object_.end()) return refuse(name, "is missing");
    if constexpr (std::is_same_v<T, std::string>) {
      if (!field->is_string()) return refuse(name, "must be a text");
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!field->is_boolean()) return refuse(name, "must be true or false");
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!field->is_number() || field->template get<double>() < 0)
        return refuse(name, "must be a number from 0");
    } else if (!field->is_number_integer() || field->template get<std::int64_t>() < 0 ||
               field->template get<std::uint64_t>() >
                   static_cast<std::uint64_t>(std::numeric_limits<T>::max())) {
      return refuse(name, fmt::format("must be a whole number from 0 to {}", std::numeric_limits<T>::max()));
    }
    value = field->template get<T>();
  }
  [[nodiscard]] const json* child(const char* name) {
    if (!problem_.empty()) return nullptr;
    const auto field = object_.find(name);
    if (field != object_.end()) return &*field;
    refuse(name, "is missing");
    return nullptr;
  }
  void refuse(const char* name, std::string_view why) {
    problem_ = fmt::format("field \"{}\" of {} {}", name, where_, why);
  }
  [[nodiscard]] Status status() const {
    if (problem_.empty()) return {};
    return failure("{}", problem_);
  }

 private:
  const json& object_;
  std::string where_;
  std::string problem_;
};

Result<StageReport> stage_from(const json& object, std::size_t index) {
  StageReport stage;
  Reader reader(object, fmt::format("stage {} of the run", index));
  reader.read("name", stage.name);
  reader.read("kind", stage.kind);
  reader.read("blocking", stage.blocking);
  reader.read("threads", stage.threads);
  reader.read("items_in", stage.items_in);
  reader.read("items_out", stage.items_out);
  reader.read("busy_s", stage.busy_s);
  reader.read("starved_s", stage.starved_s);
  reader.read("blocked_s", stage.blocked_s);
  reader.read("parked_s", stage.parked_s);
  reader.read("queued_s", stage.queued_s);
  // Absent in reports from before waiting stages existed.
  if (object.contains("waited_s")) reader.read("waited_s", stage.waited_s);
  reader.read("queue_depth", stage.queue_depth);
  if (const json* histogram = reader.child("service_s")) {
    auto read = histogram_from_json(*histogram);
    if (read)
      stage.service_s = std::move(*read);
    else
      reader.refuse("service_s", fmt::format("is damaged: {}", read.error().message));
  }
  if (Status read = reader.status(); !read) return std::unexpected(read.error());
  return stage;
}

Result<PlanDecision> decision_from(const json& object, std::size_t index) {
  PlanDecision decision;
  std::string kind;
  Reader reader(object, fmt::format("decision {} of the run", index));
  reader.read("kind", kind);
  reader.read("at_s", decision.at_s);
  reader.read("plan", decision.plan);
  reader.read("item_s", decision.item_s);
  reader.read("against_s", decision.against_s);
  using enum PlanDecision::Kind;
  constexpr std::array kinds{started, adopted, rejected, changed};
  const auto* const known = std::ranges::find(kinds, kind, [](auto one) { return to_string(one); });
  if (known == kinds.end())
    reader.refuse("kind", "is unknown");
  else
    decision.kind = *known;
  if (Status read = reader.status(); !read) return std::unexpected(read.error());
  return decision;
}

}  // namespace

json to_json(const RunReport& report) {
  json listed = json::array();
  for (const StageReport& stage : report.stages)
    listed.push_back({{"name", stage.name},
                      {"kind", stage.kind},
                      {"blocking", stage.blocking},
                      {"threads", stage.threads},
                      {"items_in", stage.items_in},
                      {"items_out", stage.items_out},
                      {"busy_s", stage.busy_s},
                      {"starved_s", stage.starved_s},
                      {"blocked_s", stage.blocked_s},
                      {"parked_s", stage.parked_s},
                      {"queued_s", stage.queued_s},
                      {"waited_s", stage.waited_s},
                      {"queue_depth", stage.queue_depth},
                      {"service_s", to_json(stage.service_s)}});
  json decided = json::array();
  for (const PlanDecision& decision : report.decisions)
    decided.push_back({{"kind", to_string(decision.kind)},
                       {"at_s", decision.at_s},
                       {"plan", decision.plan},
                       {"item_s", decision.item_s},
                       {"against_s", decision.against_s}});
  return {{"schema", schema},
          {"version", version},
          {"strategy", strategy_name(report.strategy)},
          {"strategy_reason", report.strategy_reason},
          {"threads", report.threads},
          {"tokens", report.tokens},
          {"byte_budget", report.byte_budget},
          {"peak_bytes", report.peak_bytes},
          {"wall_s", report.wall_s},
          {"idle_s", report.idle_s},
          {"stages", std::move(listed)},
          {"decisions", std::move(decided)}};
}

Result<RunReport> run_report_from_json(const json& object) {
  RunReport report;
  std::string found_schema;
  std::string strategy;
  int found_version = 0;
  Reader reader(object, "the run");
  reader.read("schema", found_schema);
  reader.read("version", found_version);
  if (Status read = reader.status(); !read) return std::unexpected(read.error());
  if (found_schema != schema || found_version != version)
    return failure("this is schema {} version {}; {} version {} is understood", found_schema, found_version,
                   schema, version);
  reader.read("strategy", strategy);
  reader.read("strategy_reason", report.strategy_reason);
  reader.read("threads", report.threads);
  reader.read("tokens", report.tokens);
  reader.read("byte_budget", report.byte_budget);
  reader.read("peak_bytes", report.peak_bytes);
  reader.read("wall_s", report.wall_s);
  reader.read("idle_s", report.idle_s);
  const json* const listed = reader.child("stages");
  if (listed && !listed->is_array()) reader.refuse("stages", "must be a list");
  const json* const decided = reader.child("decisions");
  if (decided && !decided->is_array()) reader.refuse("decisions", "must be a list");
  if (Status read = reader.status(); !read) return std::unexpected(read.error());
  const auto parsed = parse_strategy(strategy);
  if (!parsed) return failure("field \"strategy\" of the run: {}", parsed.error().message);
  report.strategy = *parsed;
  for (const json& entry : *listed) {
    auto stage = stage_from(entry, report.stages.size());
    if (!stage) return std::unexpected(stage.error());
    report.stages.push_back(std::move(*stage));
  }
  for (const json& entry : *decided) {
    auto decision = decision_from(entry, report.decisions.size());
    if (!decision) return std::unexpected(decision.error());
    report.decisions.push_back(std::move(*decision));
  }
  return report;
}

json chrome_trace(const RunReport& report) {
  json events = json::array();
  for (const TraceEvent& event : report.events)
    events.push_back({{"name", report.stages[static_cast<std::size_t>(event.stage)].name},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", event.thread},
                      {"ts", static_cast<double>(event.start_ns) * 1e-3},
                      {"dur", static_cast<double>(event.duration_ns) * 1e-3},
                      {"args", {{"item", event.item}}}});
  return {{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}};
}

}  // namespace millrace::stream
