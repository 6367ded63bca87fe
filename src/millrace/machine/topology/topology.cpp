#include "millrace/machine/topology/topology.h"

#include "millrace/machine/topology/sharing_groups.h"

#include <algorithm>
#include <ranges>
#include <tuple>
#include <utility>

namespace millrace::machine {
namespace {

// Used if no cache is reported. No mainstream core of the last fifteen years has less.
constexpr std::int64_t typical_l1d_bytes = 32 * 1024;
constexpr std::int64_t typical_l2_bytes = 256 * 1024;
constexpr int typical_line_bytes = 64;

// A cache of typical size for every group without a reported cache at `level`.
std::vector<Cache> missing_caches(const std::vector<CpuSet>& groups, const std::vector<Cache>& reported,
                                  int level, CacheType type, std::int64_t typical_bytes) {
  std::vector<Cache> missing;
  for (const CpuSet& group : groups) {
    const bool known = std::ranges::any_of(reported, [&](const Cache& cache) {
      return cache.level == level && holds_data(cache) && cache.cpus.intersects(group);
    });
    if (!known) missing.push_back({level, type, typical_bytes, typical_line_bytes, group});
  }
  return missing;
}

// Architectures whose processors commonly have SMT, which a hypervisor may hide.
bool smt_is_common(std::string_view architecture) {
  return architecture == "x86_64" || architecture == "i686" || architecture.starts_with("ppc64");
}

const CpuSet& find(const std::vector<CpuSet>& sets, int cpu) {
  static const CpuSet none;
  const auto found = std::ranges::find_if(sets, [cpu](const CpuSet& set) { return set.contains(cpu); });
  return found == sets.end() ? none : *found;
}

// Whether one element of `all` contains both CPUs.
template <class T> bool share(const std::vector<T>& all, int a, int b) {
  return std::ranges::any_of(all, [=](const T& one) { return one.cpus.contains(a) && one.cpus.contains(b); });
}

}  // namespace

Topology::Topology(TopologyParts parts) {
  for (const SharingDomain domain : all_sharing_domains)
    groups_[static_cast<std::size_t>(domain)] = sharing_groups(parts, domain);
  packages_ = std::move(parts.packages);
  numa_nodes_ = std::move(parts.numa_nodes);
  caches_ = std::move(parts.caches);
  core_kinds_ = std::move(parts.core_kinds);
  architecture_ = std::move(parts.architecture);
  traits_ = std::move(parts.traits);
  const std::vector<CpuSet>& reported = groups_of(SharingDomain::core);
  for (const CpuSet& core : reported)
    cpus_ |= core;
  if (core_kinds_.empty()) core_kinds_.push_back({"", cpus_});

  trust_.source = parts.source;
  trust_.hypervisor = std::move(parts.hypervisor);
  const auto shows_one_pu = [](const CpuSet& core) { return core.count() == 1; };
  trust_.smt_may_be_hidden = !trust_.hypervisor.empty() && smt_is_common(architecture_) &&
                             std::ranges::all_of(reported, shows_one_pu);
  for (const Cache& cache : caches_) {
    const auto touched = std::ranges::count_if(
        packages_, [&](const Package& package) { return package.cpus.intersects(cache.cpus); });
    trust_.caches_implausible = trust_.caches_implausible || touched > 1;
  }

  const auto served_by = [this](std::string_view cache) -> const std::vector<CpuSet>& {
    const auto known = std::ranges::find(traits_.caches, cache, &CacheSharing::cache);
    return known == traits_.caches.end() ? cores() : groups_of(known->shared_by);
  };
  for (const std::vector<Cache>& missing :
       {missing_caches(served_by("l1d"), caches_, 1, CacheType::data, typical_l1d_bytes),
        missing_caches(served_by("l2"), caches_, 2, CacheType::unified, typical_l2_bytes)}) {
    trust_.caches_guessed = trust_.caches_guessed || !missing.empty();
    caches_.insert(caches_.end(), missing.begin(), missing.end());
  }
  std::ranges::sort(caches_, {}, [](const Cache& cache) {
    return std::tuple(cache.level, cache.cpus.lowest(), cache.type);
  });
}

const CpuSet& Topology::core_of(int cpu) const { return find(cores(), cpu); }

const CpuSet& Topology::fpu_group_of(int cpu) const { return find(fpu_groups(), cpu); }

int Topology::core_kind_of(int cpu) const {
  const auto found =
      std::ranges::find_if(core_kinds_, [cpu](const CoreKind& kind) { return kind.cpus.contains(cpu); });
  return found == core_kinds_.end() ? 0 : static_cast<int>(found - core_kinds_.begin());
}

const Cache* Topology::data_cache_of(int cpu, int level) const {
  const auto found = std::ranges::find_if(caches_, [=](const Cache& cache) {
    return cache.level == level && holds_data(cache) && cache.cpus.contains(cpu);
  });
  return found == caches_.end() ? nullptr : &*found;
}

const Cache* Topology::last_level_cache_of(int cpu) const {
  const Cache* last = nullptr;
  for (const Cache& cache : caches_)  // ordered by level
    if (holds_data(cache) && cache.cpus.contains(cpu)) last = &cache;
  return last;
}

std::optional<std::int64_t> Topology::last_level_bytes(const CpuSet& cpus) const {
  std::optional<std::int64_t> least;
  CpuSet left = cpus;
  for (const Cache& cache : std::views::reverse(caches_)) {  // ordered by level
    if (!holds_data(cache) || cache.size_bytes <= 0 || !cache.cpus.intersects(left)) continue;
    left -= cache.cpus;
    least = std::min(cache.size_bytes, least.value_or(cache.size_bytes));
  }
  return least;
}

Distance Topology::distance(int a, int b) const {
  if (core_of(a).contains(b)) return Distance::same_core;
  if (fpu_group_of(a).contains(b)) return Distance::same_fpu_group;
  for (const Cache& cache : caches_)  // ordered by level: finds the lowest shared cache first
    if (holds_data(cache) && cache.cpus.contains(a) && cache.cpus.contains(b))
      return cache.level <= 2 ? Distance::shared_l2 : Distance::shared_cache;
  if (share(numa_nodes_, a, b)) return Distance::same_numa_node;
  if (share(packages_, a, b)) return Distance::same_package;
  return Distance::apart;
}

}  // namespace millrace::machine
