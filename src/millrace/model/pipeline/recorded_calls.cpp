#include "millrace/model/pipeline/recorded_calls.h"

#include "millrace/base/text/in_quotes.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>

#include <nlohmann/json.hpp>

namespace millrace::model {
namespace {

using nlohmann::json;

std::unexpected<Error> wrong(std::string_view file, std::string_view what) {
  return usage_error("{}: {}; give the trace that the recorded run wrote with --trace", file, what);
}

// One call in a trace. Not set for other kinds of event.
struct Event {
  std::string stage;
  std::int64_t item = 0;
  double seconds = 0;
};
std::optional<Event> event_of(const json& entry) {
  if (!entry.is_object()) return std::nullopt;
  const auto name = entry.find("name");
  const auto duration = entry.find("dur");
  const auto arguments = entry.find("args");
  if (name == entry.end() || !name->is_string() || duration == entry.end() || !duration->is_number() ||
      arguments == entry.end() || !arguments->is_object())
    return std::nullopt;
  const auto item = arguments->find("item");
  if (item == arguments->end() || !item->is_number_integer()) return std::nullopt;
  return Event{name->get<std::string>(), item->get<std::int64_t>(),
               std::max(0.0, duration->get<double>() * 1e-6)};
}

// Makes the calls of a stage add up to its busy time.
void complete(RecordedCalls& recorded, std::size_t stage, double busy) {
  double timed = 0;
  std::int64_t calls = 0;
  bool one_each = true;
  for (const auto& item : recorded.items) {
    const auto& seconds = item[stage].seconds;
    timed = std::accumulate(seconds.begin(), seconds.end(), timed);
    calls += std::ssize(seconds);
    one_each = one_each && seconds.size() <= 1;
  }
  const auto missing = std::ssize(recorded.items) - calls;
  const bool left_out = one_each && missing > 0 && busy > 0;
  if (left_out) {
    const double mean = std::max(0.0, busy - timed) / static_cast<double>(missing);
    for (auto& item : recorded.items) {
      if (item[stage].seconds.empty()) item[stage].seconds.push_back(mean);
    }
    return;
  }
  const double stretch = timed > 0 && busy > 0 ? busy / timed : 1;
  for (auto& item : recorded.items) {
    for (double& seconds : item[stage].seconds)
      seconds *= stretch;
  }
}

// Number of parts of an item after the stage: the calls of the later stages, up to the next one that changes
// the number.
std::size_t parts_behind(const Pipeline& pipeline, const std::vector<StageCalls>& item, std::size_t stage) {
  std::size_t parts = 0;
  for (std::size_t s = stage + 1; s < item.size(); ++s) {
    parts = std::max(parts, item[s].seconds.size());
    if (pipeline.stages[s].outputs != 1) break;
  }
  return parts;
}

// Sets the number of parts that each call emits.
void divide(const Pipeline& pipeline, std::vector<StageCalls>& item) {
  std::size_t arriving = 1;
  for (std::size_t s = 0; s < item.size(); ++s) {
    const std::size_t calls = item[s].seconds.size();
    item[s].outputs.assign(calls, 1);
    if (pipeline.stages[s].outputs == 1 || s + 1 == item.size() || calls == 0) continue;
    const std::size_t passing_by = arriving > calls ? arriving - calls : 0;
    const std::size_t behind = parts_behind(pipeline, item, s);
    const std::size_t emitted = behind > passing_by ? behind - passing_by : 0;
    for (std::size_t call = 0; call < calls; ++call)
      item[s].outputs[call] = static_cast<int>(emitted / calls + (call < emitted % calls ? 1 : 0));
    arriving = emitted + passing_by;
  }
}

}  // namespace

Result<RecordedCalls> parse_recorded_calls(std::string_view content, std::string_view file_name,
                                           const Pipeline& pipeline, std::int64_t items,
                                           const std::vector<double>& busy_seconds) {
  const json root = json::parse(content, nullptr, false);
  const auto events = root.is_object() ? root.find("traceEvents") : root.end();
  if (!root.is_object() || events == root.end() || !events->is_array())
    return wrong(file_name, "not a trace (\"traceEvents\": [...])");
  std::unordered_map<std::string, std::size_t> stage_of;
  for (const Stage& stage : pipeline.stages) {
    if (!stage_of.emplace(stage.name, stage_of.size()).second)
      return usage_error(
          "{}: two stages are called {}, so its calls cannot be told apart; leave the trace out", file_name,
          in_quotes(stage.name));
  }
  RecordedCalls recorded;
  // A trace with fewer events than items cannot cover them.
  if (items > std::ssize(*events)) return wrong(file_name, "fewer calls than the run had items");
  recorded.items.assign(static_cast<std::size_t>(items), std::vector<StageCalls>(pipeline.stages.size()));
  for (const json& entry : *events) {
    const auto event = event_of(entry);
    if (!event) continue;
    const auto stage = stage_of.find(event->stage);
    if (stage == stage_of.end())
      return wrong(file_name,
                   fmt::format("a call of stage {}, which the run has not", in_quotes(event->stage)));
    // The source's last call made no item but has the next item's number.
    if (event->item < 0 || event->item >= items) continue;
    recorded.items[static_cast<std::size_t>(event->item)][stage->second].seconds.push_back(event->seconds);
  }
  for (std::size_t i = 0; i < recorded.items.size(); ++i) {
    if (std::ranges::all_of(recorded.items[i], [](const StageCalls& calls) { return calls.seconds.empty(); }))
      return wrong(file_name, fmt::format("no call for item {}", i));
  }
  for (std::size_t s = 0; s < pipeline.stages.size(); ++s)
    complete(recorded, s, busy_seconds[s]);
  for (auto& item : recorded.items) {
    if (item.front().seconds.empty()) item.front().seconds.push_back(0);
    divide(pipeline, item);
  }
  return recorded;
}

}  // namespace millrace::model
