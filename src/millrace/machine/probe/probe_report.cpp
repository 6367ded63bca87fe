#include "millrace/machine/probe/probe_report.h"

#include "millrace/machine/probe/probe_kernels.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace::machine {
namespace {

std::string probes_text(int probes) { return fmt::format("{} probe{}", probes, probes == 1 ? "" : "s"); }

std::string held_text(const PairHistory& history) {
  if (history.held() == 0) return "unclear";
  return fmt::format("{} for {}", name_of(history.state()), probes_text(history.held()));
}

std::string cell(double slowdown) { return slowdown > 0 ? fmt::format("{:.2f}", slowdown) : "-"; }

std::string matrix_text(const PairJudgement& judgement) {
  std::string text = fmt::format("  {:<10}", "");
  for (const SharedUnit unit : all_shared_units)
    text += fmt::format("{:>9}", kernel_name(unit));
  text += '\n';
  for (const SharedUnit unit : all_shared_units) {
    text += fmt::format("  {:<10}", kernel_name(unit));
    for (const SharedUnit beside : all_shared_units)
      text += fmt::format("{:>9}", cell(judgement.slowdown[unit][beside]));
    text += '\n';
  }
  return text;
}

}  // namespace

MeasuredSharing measured_sharing(const Topology& topology, std::span<const ProbedPair> pairs) {
  MeasuredSharing measured{.probes = pairs.empty() ? 0 : pairs.front().history.held(), .agrees = true};
  for (const ProbedPair& pair : pairs) {
    measured.probes = std::min(measured.probes, pair.history.held());
    const bool reported = topology.fpu_group_of(pair.first).contains(pair.second);
    measured.agrees = measured.agrees && reported == (pair.history.state() == PairState::siblings);
  }
  return measured;
}

std::string to_text(const Topology& topology, std::span<const ProbedPair> pairs) {
  std::string text;
  for (const ProbedPair& pair : pairs)
    text += fmt::format("CPU {} and {}: {}. {}\n", pair.first, pair.second, held_text(pair.history),
                        pair.last.reason);
  std::set<PairState> drawn;
  for (const ProbedPair& pair : pairs)
    if (drawn.insert(pair.last.state).second)
      text +=
          fmt::format("\nCPU {} and {}, {}: time of the row's kernel beside the column's, over its least\n"
                      "({} of {} measurements were disturbed)\n{}",
                      pair.first, pair.second, name_of(pair.last.state), pair.last.disturbed,
                      pair.last.windows, matrix_text(pair.last));
  text += '\n';
  for (const std::string& sentence :
       topology.with_measured(measured_sharing(topology, pairs)).trust().sentences())
    text += sentence + '\n';
  return text;
}

std::string to_lines(std::span<const ProbedPair> pairs, int probe) {
  std::string text;
  for (const ProbedPair& pair : pairs) {
    text += fmt::format("{:>5}  CPU {} {}  {:<9} {:>5.0f} ns ", probe, pair.first, pair.second,
                        name_of(pair.last.state), pair.last.handover_ns);
    for (const SharedUnit unit : all_shared_units)
      text += fmt::format(" {} {}", kernel_name(unit), cell(pair.last.slowdown[unit][unit]));
    text += fmt::format("  {}\n", held_text(pair.history));
  }
  return text;
}

nlohmann::json to_json(const Topology& topology, std::span<const ProbedPair> pairs, int probe) {
  auto all = nlohmann::json::array();
  for (const ProbedPair& pair : pairs) {
    auto slowdown = nlohmann::json::object();
    for (const SharedUnit unit : all_shared_units) {
      auto& row = slowdown[std::string(name_of(unit))];
      for (const SharedUnit beside : all_shared_units) {
        const double ratio = pair.last.slowdown[unit][beside];
        row[std::string(name_of(beside))] = ratio > 0 ? nlohmann::json(ratio) : nlohmann::json();
      }
    }
    all.push_back({{"cpus", {pair.first, pair.second}},
                   {"state", name_of(pair.history.state())},
                   {"stable_probes", pair.history.held()},
                   {"last_state", name_of(pair.last.state)},
                   {"reason", pair.last.reason},
                   {"handover_ns",
                    pair.last.handover_ns > 0 ? nlohmann::json(pair.last.handover_ns) : nlohmann::json()},
                   {"windows", pair.last.windows},
                   {"disturbed", pair.last.disturbed},
                   {"slowdown", std::move(slowdown)}});
  }
  const MeasuredSharing measured = measured_sharing(topology, pairs);
  return {{"schema", "millrace.probe"},
          {"version", 1},
          {"probe", probe},
          {"pairs", std::move(all)},
          {"trust",
           {{"stable_probes", measured.probes},
            {"agrees", measured.agrees},
            {"fpu_groups_reliable", topology.with_measured(measured).trust().fpu_groups_reliable()}}}};
}

}  // namespace millrace::machine
