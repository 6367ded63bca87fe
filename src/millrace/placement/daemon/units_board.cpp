#include "millrace/placement/daemon/units_board.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace millrace::placement {
namespace {

constexpr std::string_view llc_level = "llc";

void leave_out(model::SharedMachine& machine, const DaemonSettings::Levels& levels) {
  std::erase_if(machine.levels, [&](const model::SharingLevel& level) {
    return level.name == llc_level ? !levels.llc : !levels.units;
  });
  if (!levels.llc) machine.caches.clear();
  if (!levels.numa) machine.nodes.clear();
}

}  // namespace

UnitsBoard::UnitsBoard(const machine::Topology& topology, const DaemonSettings& settings)
    : topology_(&topology), settings_(settings) {}

UnitsBoard::State UnitsBoard::begin(const machine::CpuSet& allowed) const {
  State state{.units_ground = units_ground(*topology_, allowed),
              .workover_ground = workover_ground(*topology_, allowed),
              .units = {},
              .workover = {},
              .part = {.allowed = allowed, .gain = 0, .reason = {}}};
  state.units_ground.reliable = state.units_ground.reliable || settings_.believe_machine;
  leave_out(state.units_ground.machine.machine, settings_.levels);
  return state;
}

std::map<std::int64_t, machine::CpuSet> UnitsBoard::step(std::span<const UnitThread> threads,
                                                         std::int64_t now_ns) {
  std::map<std::string, std::vector<UnitThread>> by_allowed;
  for (const UnitThread& thread : threads)
    by_allowed[thread.allowed.to_string()].push_back(thread);
  std::erase_if(states_, [&](const auto& state) { return !by_allowed.contains(state.first); });
  std::map<std::int64_t, machine::CpuSet> given;
  for (const auto& [name, together] : by_allowed) {
    auto found = states_.find(name);
    if (found == states_.end()) found = states_.emplace(name, begin(together.front().allowed)).first;
    State& state = found->second;
    std::vector<machine::CpuSet> masks;
    if (settings_.rule == DaemonSettings::Rule::workover) {
      WorkoverStep step = by_workover(state.workover, state.workover_ground, together);
      state.workover = std::move(step.state);
      masks = std::move(step.masks);
      const auto bound = std::ranges::count_if(masks, [](const auto& mask) { return !mask.empty(); });
      state.part.reason = fmt::format("By the rule of the WorkOver paper {} threads are bound.", bound);
    } else {
      UnitsStep step = by_units(state.units, state.units_ground, together, now_ns);
      state.units = std::move(step.state);
      masks = std::move(step.masks);
      state.part.gain = step.gain;
      state.part.reason = std::move(step.reason);
    }
    for (std::size_t i = 0; i < together.size(); ++i)
      if (!masks[i].empty()) given.emplace(together[i].id, std::move(masks[i]));
  }
  return given;
}

const UnitsBoard::Part* UnitsBoard::part_of(const machine::CpuSet& allowed) const {
  const auto found = states_.find(allowed.to_string());
  return found == states_.end() ? nullptr : &found->second.part;
}

}  // namespace millrace::placement
