#include "millrace/machine/topology/affinity_arrangement.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace millrace::machine {
namespace {

using Arrangement = AffinityArrangement;

// The number of PUs in `group` that are used before `cpu`: 0 for the first PU of a core, 1 for its sibling.
// The I/O thread's PU is the first of its groups.
int rank_in(const CpuSet& group, int cpu, int io) {
  if (cpu == io) return 0;
  int rank = group.contains(io) ? 1 : 0;
  for (const int other : group)
    if (other < cpu && other != io) ++rank;
  return rank;
}

// `candidates` in the order in which workers get them. With io_same the I/O thread's PU comes first, even if
// its core is slow.
std::vector<int> handing_out_order(const Topology& topology, const CpuSet& candidates,
                                   Arrangement arrangement, int io) {
  const bool spread = arrangement == Arrangement::pinned || arrangement == Arrangement::module_diff;
  std::vector<std::tuple<bool, int, int, int, Distance, int>> keys;
  for (const int cpu : candidates) {
    const CpuSet core = topology.core_of(cpu) & candidates;
    const CpuSet fpu_group = topology.fpu_group_of(cpu) & candidates;
    const bool after_io = arrangement != Arrangement::io_same || cpu != io;
    keys.emplace_back(after_io, rank_in(core, cpu, io), spread ? rank_in(fpu_group, cpu, io) : 0,
                      -topology.core_kind_of(cpu), topology.distance(io, cpu), cpu);
  }
  std::ranges::sort(keys);
  std::vector<int> order;
  order.reserve(keys.size());
  for (const auto& key : keys)
    order.push_back(std::get<5>(key));
  return order;
}

int lowest_of_fastest_kind(const Topology& topology, const CpuSet& cpus) {
  int best = cpus.lowest();
  for (const int cpu : cpus)
    if (topology.core_kind_of(cpu) > topology.core_kind_of(best)) best = cpu;
  return best;
}

std::string workers_text(int count) { return fmt::format("{} worker{}", count, count == 1 ? "" : "s"); }

// The PUs that the arrangement keeps free of workers.
CpuSet avoided_by(const Topology& topology, Arrangement arrangement, int io) {
  if (arrangement == Arrangement::io_diff) return topology.core_of(io);
  if (arrangement == Arrangement::module_diff) return topology.fpu_group_of(io);
  return {};
}

std::unexpected<Error> too_few(const ArrangementRequest& request, int available, const CpuSet& avoided) {
  const std::string_view name = name_of(request.arrangement);
  const std::string_view unit = request.arrangement == Arrangement::module_diff ? "module" : "core";
  if (available == 0)
    return usage_error(
        "affinity {}: every usable PU lies in the I/O thread's {} (CPU {}); use io-same, pinned or free",
        name, unit, avoided.to_string());
  const std::string where =
      avoided.empty() ? "" : fmt::format(" outside the I/O thread's {} (CPU {})", unit, avoided.to_string());
  return usage_error("affinity {} with {} needs {} PUs{}, of which {} can be used; use {}, or affinity free",
                     name, workers_text(request.workers), request.workers, where, available,
                     workers_text(available));
}

}  // namespace

std::string_view name_of(AffinityArrangement arrangement) {
  switch (arrangement) {
  case Arrangement::free:
    return "free";
  case Arrangement::pinned:
    return "pinned";
  case Arrangement::io_same:
    return "io-same";
  case Arrangement::io_diff:
    return "io-diff";
  case Arrangement::module_diff:
    return "module-diff";
  }
  return "";
}

Result<AffinityArrangement> parse_affinity_arrangement(std::string_view name) {
  for (const Arrangement arrangement : all_affinity_arrangements)
    if (name_of(arrangement) == name) return arrangement;
  return usage_error("unknown affinity \"{}\"; choose one of free, pinned, io-same, io-diff, module-diff",
                     name);
}

int most_workers(const Topology& topology, const CpuSet& usable, AffinityArrangement arrangement) {
  if (arrangement == Arrangement::free) return std::numeric_limits<int>::max();
  const CpuSet cpus = usable & topology.cpus();
  if (cpus.empty()) return 0;
  return (cpus - avoided_by(topology, arrangement, lowest_of_fastest_kind(topology, cpus))).count();
}

std::vector<ArrangementLimit> binding_arrangements(const Topology& topology, const CpuSet& usable) {
  const CpuSet cpus = usable & topology.cpus();
  std::vector<ArrangementLimit> possible;
  if (cpus.empty()) return possible;
  const int io = lowest_of_fastest_kind(topology, cpus);
  for (const Arrangement arrangement : all_affinity_arrangements) {
    if (arrangement == Arrangement::free) continue;
    const CpuSet avoided = avoided_by(topology, arrangement, io);
    if (arrangement == Arrangement::module_diff &&
        (avoided & cpus) == (avoided_by(topology, Arrangement::io_diff, io) & cpus))
      continue;
    if (const int workers = most_workers(topology, cpus, arrangement); workers > 0)
      possible.push_back({arrangement, workers});
  }
  return possible;
}

Result<AffinityPlan> arrange(const Topology& topology, const CpuSet& usable,
                             const ArrangementRequest& request) {
  const CpuSet cpus = usable & topology.cpus();
  if (cpus.empty())
    return usage_error("none of the usable CPUs ({}) is in the topology (CPU {})", usable.to_string(),
                       topology.cpus().to_string());
  if (request.workers < 1) return usage_error("{} workers cannot work; use at least 1", request.workers);
  if (request.io_cpu && !cpus.contains(*request.io_cpu))
    return usage_error("the I/O thread cannot run on CPU {}; choose one of {}", *request.io_cpu,
                       cpus.to_string());

  const auto wanted = static_cast<std::size_t>(request.workers);
  AffinityPlan plan;
  plan.io = cpus;
  if (request.arrangement == Arrangement::free) {
    plan.workers.assign(wanted, cpus);
    return plan;
  }

  const int io = request.io_cpu.value_or(lowest_of_fastest_kind(topology, cpus));
  const CpuSet avoided = avoided_by(topology, request.arrangement, io);
  std::vector<int> order = handing_out_order(topology, cpus - avoided, request.arrangement, io);
  if (order.size() < wanted) return too_few(request, static_cast<int>(order.size()), avoided);
  order.resize(wanted);
  // The I/O thread's PU is first in the order. Move it to the last worker.
  if (request.arrangement == Arrangement::io_same) std::ranges::rotate(order, order.begin() + 1);
  if (binds_io(request.arrangement)) plan.io = {io};
  for (const int cpu : order)
    plan.workers.push_back({cpu});
  return plan;
}

}  // namespace millrace::machine
