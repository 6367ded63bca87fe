#include "millrace/placement/run/unit_watch.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/text/printable.h"
#include "millrace/placement/run/rest_after.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace::placement {
namespace {

using machine::Demand;
using machine::SharedUnit;

// With less CPU time, switches say nothing.
constexpr std::int64_t least_run_ns = 50'000'000;
constexpr std::int64_t beginning_ns = 1'000'000'000;
constexpr std::int64_t beginning_interval_ns = 50'000'000;
// As in the WorkOver paper.
constexpr std::int64_t between_masks_ns = 1'000'000'000;

SharedUnit greatest(const Demand& demand) {
  return *std::ranges::max_element(machine::all_shared_units, {},
                                   [&](SharedUnit unit) { return demand[unit]; });
}

// Why threads are not placed by what this machine claims to share; "" if the claim is reliable.
std::string distrust(const machine::Topology& topology) {
  return topology.trust().fpu_groups_reliable() ? "" : topology.trust().sentences().front();
}

double rounded(double share) {
  constexpr double rounding = 1e4;
  return std::round(share * rounding) / rounding;
}

std::vector<intensity::LivingThread> living(const ThreadRegister& threads) {
  std::vector<intensity::LivingThread> all;
  for (const ThreadIdentity& thread : threads.identities())
    all.push_back({thread.thread, thread.process});
  return all;
}

}  // namespace

std::string_view name_of(UnitsMode mode) {
  switch (mode) {
  case UnitsMode::automatic:
    return "auto";
  case UnitsMode::workover:
    return "workover";
  case UnitsMode::off:
    break;
  }
  return "off";
}

nlohmann::json demand_json(const Demand& demand) {
  nlohmann::json shares = nlohmann::json::object();
  for (const SharedUnit unit : machine::all_shared_units)
    shares[std::string(name_of(unit))] = rounded(demand[unit]);
  return shares;
}

std::vector<std::string> lines_of(const UnitFindings& findings) {
  if (findings.mode == UnitsMode::off) return {};
  std::map<SharedUnit, int> most;
  int unknown = 0;
  for (const auto& thread : findings.threads)
    thread.demand ? ++most[greatest(*thread.demand)] : ++unknown;
  std::string text = fmt::format("by {}; threads that use most:", name_of(findings.source));
  for (const auto& [unit, count] : most)
    text += fmt::format(" {} {},", name_of(unit), count);
  text += fmt::format(" not known {}", unknown);
  std::vector<std::string> lines{std::move(text)};
  if (!findings.missing.empty()) lines.push_back("not all observed: " + findings.missing);
  if (!findings.not_placed.empty()) lines.push_back("observed only: " + findings.not_placed);
  return lines;
}

nlohmann::json to_json(const UnitFindings& findings) {
  if (findings.mode == UnitsMode::off) return nullptr;
  nlohmann::json threads = nlohmann::json::array();
  for (const auto& thread : findings.threads)
    threads.push_back({{"name", printable(thread.name)},
                       {"thread", thread.thread},
                       {"process", thread.process},
                       {"ended", thread.ended},
                       {"samples", thread.samples},
                       {"footprint_bytes", thread.footprint_bytes},
                       {"demand", thread.demand ? demand_json(*thread.demand) : nlohmann::json(nullptr)}});
  nlohmann::json overlaps = nlohmann::json::array();
  for (const auto& overlap : findings.overlaps)
    overlaps.push_back({{"threads", {overlap.first, overlap.second}}, {"share", rounded(overlap.share)}});
  return {{"mode", name_of(findings.mode)},
          {"source", name_of(findings.source)},
          {"missing", findings.missing},
          {"not_placed", findings.not_placed},
          {"threads", threads},
          {"overlaps", overlaps}};
}

UnitWatch::UnitWatch(UnitsMode mode, ThreadRegister& threads, const machine::Topology& topology,
                     const machine::CpuSet& allowed)
    : threads_(&threads), workover_ground_(workover_ground(topology, allowed)),
      units_ground_(units_ground(topology, allowed)),
      watch_(intensity::caches_of(topology, allowed), allowed.count()) {
  begun_ns_ = now_ns();
  findings_.mode = mode;
  findings_.not_placed = distrust(topology);
}

void UnitWatch::set_machine(const machine::Topology& topology, const machine::CpuSet& allowed) {
  workover_ground_ = workover_ground(topology, allowed);
  units_ground_ = units_ground(topology, allowed);
  workover_ = {};
  units_ = {};
  threads_->set_by_unit({});
  next_masks_ns_ = 0;
}

void UnitWatch::tick(const RunTimes& times) {
  const std::int64_t now = now_ns();
  const RunTimes since = times - times_;
  if (since.run_ns >= least_run_ns) {
    switches_ = static_cast<double>(since.turns) / seconds(since.run_ns);
    times_ = times;
  }
  const std::int64_t rest = rest_after([&] { watch_.look(living(*threads_), now, switches_); });
  // Programs mostly make threads at the beginning, so look more often then.
  const std::int64_t interval =
      now - begun_ns_ < beginning_ns ? beginning_interval_ns : intensity::IntensityWatch::interval_ns;
  next_ns_ = now + std::max(rest, interval);
  if (!places() || now < next_masks_ns_) return;
  next_masks_ns_ = now + between_masks_ns;
  keep_apart(now);
}

void UnitWatch::keep_apart(std::int64_t now) {
  std::map<pid_t, int> numbers;
  std::map<pid_t, int> threads_of;
  for (const ThreadIdentity& thread : threads_->identities()) {
    numbers[thread.thread] = thread.number;
    ++threads_of[thread.process];
  }
  // A program that has just begun derives its number of threads from main's mask.
  std::erase_if(numbers, [&](const auto& thread) {
    const auto process = threads_of.find(thread.first);
    return process != threads_of.end() && process->second == 1;
  });
  std::vector<UnitThread> known;
  for (const auto& thread : watch_.threads())
    if (const auto number = numbers.find(thread.thread);
        !thread.ended && thread.demand && number != numbers.end()) {
      const auto stat = read_task_stat(thread.process, thread.thread);
      known.push_back({.id = number->second,
                       .demand = *thread.demand,
                       .samples = thread.samples,
                       .busy = thread.busy,
                       .cpu = stat ? stat->cpu : -1,
                       .allowed = {}});
    }
  std::vector<machine::CpuSet> masks;
  if (findings_.mode == UnitsMode::workover) {
    WorkoverStep step = by_workover(workover_, workover_ground_, known);
    workover_ = std::move(step.state);
    masks = std::move(step.masks);
  } else {
    UnitsStep step = by_units(units_, units_ground_, known, now);
    units_ = std::move(step.state);
    masks = std::move(step.masks);
  }
  std::map<int, machine::CpuSet> by_unit;
  for (std::size_t i = 0; i < known.size(); ++i)
    if (!masks[i].empty()) by_unit.emplace(static_cast<int>(known[i].id), std::move(masks[i]));
  threads_->set_by_unit(std::move(by_unit));
}

UnitFindings UnitWatch::finish() {
  watch_.look(living(*threads_), now_ns(), switches_);
  findings_.source = watch_.source();
  findings_.missing = watch_.missing();
  findings_.threads = watch_.threads();
  findings_.overlaps = watch_.overlaps();
  return findings_;
}

}  // namespace millrace::placement
