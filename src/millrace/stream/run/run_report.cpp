#include "millrace/stream/run/run_report.h"

#include "millrace/base/error/clock.h"

#include <algorithm>
#include <array>
#include <utility>

namespace millrace::stream {
namespace {

constexpr std::array<std::pair<PlanDecision::Kind, std::string_view>, 4> kinds{{
    {PlanDecision::Kind::started, "started"},
    {PlanDecision::Kind::adopted, "adopted"},
    {PlanDecision::Kind::rejected, "rejected"},
    {PlanDecision::Kind::changed, "changed"},
}};

}  // namespace

std::string_view to_string(PlanDecision::Kind kind) {
  return std::ranges::find(kinds, kind, [](const auto& entry) { return entry.first; })->second;
}

void RunReport::append(const RunReport& phase) {
  if (phase.stages.empty()) return;  // the phase ran out of memory before it had a report
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
    stage.waited_s += more.waited_s;
    stage.queue_depth = (stage.parked_s + stage.queued_s) / std::max(wall_s, 1e-9);
    stage.service_s.merge(more.service_s);
  }
}

}  // namespace millrace::stream
