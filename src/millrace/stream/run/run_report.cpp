#include "millrace/stream/run/run_report.h"

#include "millrace/base/clock.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

namespace millrace::stream {
namespace {

using nlohmann::json;

constexpr const char* schema = "millrace.stream.run";
constexpr int version = 1;

// Reads fields of one object; after the first that is missing or of the wrong type, nothing.
class Reader {
 public:
  Reader(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) problem_ = fmt::format("{} is no JSON object", where_);
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
  reader.read("queue_depth", stage.queue_depth);
  if (const json* histogram = reader.child("service_s")) {
    auto read = Histogram::from_json(*histogram);
    if (read)
      stage.service_s = std::move(*read);
    else
      reader.refuse("service_s", fmt::format("is damaged: {}", read.error().message));
  }
  if (Status read = reader.status(); !read) return std::unexpected(read.error());
  return stage;
}

constexpr std::array<std::pair<PlanDecision::Kind, std::string_view>, 4> kinds{{
    {PlanDecision::Kind::started, "started"},
    {PlanDecision::Kind::adopted, "adopted"},
    {PlanDecision::Kind::rejected, "rejected"},
    {PlanDecision::Kind::changed, "changed"},
}};

Result<PlanDecision> decision_from(const json& object, std::size_t index) {
  PlanDecision decision;
  std::string kind;
  Reader reader(object, fmt::format("decision {} of the run", index));
  reader.read("kind", kind);
  reader.read("at_s", decision.at_s);
  reader.read("plan", decision.plan);
  reader.read("item_s", decision.item_s);
  reader.read("against_s", decision.against_s);
  const auto known = std::ranges::find(kinds, kind, [](const auto& entry) { return entry.second; });
  if (known == kinds.end())
    reader.refuse("kind", "is unknown");
  else
    decision.kind = known->first;
  if (Status read = reader.status(); !read) return std::unexpected(read.error());
  return decision;
}

}  // namespace

std::string_view to_string(PlanDecision::Kind kind) {
  return std::ranges::find(kinds, kind, [](const auto& entry) { return entry.first; })->second;
}

void RunReport::append(const RunReport& phase) {
  if (phase.stages.empty()) return;  // there was no memory for it
  if (stages.empty()) {
    *this = phase;
    for (const TraceEvent& event : events)
      ++events_kept[event.thread];
    return;
  }
  for (TraceEvent event : phase.events) {
    std::size_t& kept = events_kept[event.thread];
    if (kept == most_events_a_thread) {
      ++events_dropped;
      continue;
    }
    ++kept;
    event.start_ns += nanoseconds(wall_s);
    events.push_back(event);
  }
  events_dropped += phase.events_dropped;
  strategy = phase.strategy;
  threads = phase.threads;
  tokens = phase.tokens;
  peak_bytes = std::max(peak_bytes, phase.peak_bytes);
  wall_s += phase.wall_s;
  idle_s += phase.idle_s;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    StageReport& stage = stages[i];
    const StageReport& more = phase.stages[i];
    stage.threads = more.threads;
    stage.items_in += more.items_in;
    stage.items_out += more.items_out;
    stage.busy_s += more.busy_s;
    stage.starved_s += more.starved_s;
    stage.blocked_s += more.blocked_s;
    stage.parked_s += more.parked_s;
    stage.queued_s += more.queued_s;
    stage.queue_depth = (stage.parked_s + stage.queued_s) / std::max(wall_s, 1e-9);
    stage.service_s.merge(more.service_s);
  }
}

json RunReport::to_json() const {
  json listed = json::array();
  for (const StageReport& stage : stages)
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
                      {"queue_depth", stage.queue_depth},
                      {"service_s", stage.service_s.to_json()}});
  json decided = json::array();
  for (const PlanDecision& decision : decisions)
    decided.push_back({{"kind", to_string(decision.kind)},
                       {"at_s", decision.at_s},
                       {"plan", decision.plan},
                       {"item_s", decision.item_s},
                       {"against_s", decision.against_s}});
  return {{"schema", schema},
          {"version", version},
          {"strategy", strategy_name(strategy)},
          {"strategy_reason", strategy_reason},
          {"threads", threads},
          {"tokens", tokens},
          {"byte_budget", byte_budget},
          {"peak_bytes", peak_bytes},
          {"wall_s", wall_s},
          {"idle_s", idle_s},
          {"stages", std::move(listed)},
          {"decisions", std::move(decided)}};
}

Result<RunReport> RunReport::from_json(const json& object) {
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
