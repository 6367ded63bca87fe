// Topology: the processing units of a machine and what they share, as a value.
//
// Policy code takes a Topology instead of asking the operating system, so it can be tested for any machine.
// topology_hwloc.cpp reads the machine, a file or a description. Everything derived from those parts (cores
// of modules, FPU groups, substitutes for unreported caches) is computed here.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/base/error/result.h"
#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/machine/topology/topology_trust.h"
#include "millrace/machine/units/unit_traits.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace millrace::machine {

class UnitFamilies;

struct Package {
  CpuSet cpus;
  std::string vendor;  // "AuthenticAMD"; "" when unknown
  std::string model;   // "AMD EPYC"; "" when unknown
  [[nodiscard]] friend bool operator==(const Package&, const Package&) = default;
};

struct NumaNode {
  int number = 0;  // the kernel's number
  CpuSet cpus;     // empty for a node without CPUs
  std::int64_t memory_bytes = 0;
  [[nodiscard]] friend bool operator==(const NumaNode&, const NumaNode&) = default;
};

enum class CacheType { data, instruction, unified };

struct Cache {
  int level = 1;
  CacheType type = CacheType::data;
  std::int64_t size_bytes = 0;
  int line_bytes = 0;  // 0 when unknown
  CpuSet cpus;         // the PUs that share it
  [[nodiscard]] friend bool operator==(const Cache&, const Cache&) = default;
};

[[nodiscard]] inline bool holds_data(const Cache& cache) { return cache.type != CacheType::instruction; }

// Cores of the same type on a hybrid processor. Other processors have a single kind with all cores.
struct CoreKind {
  std::string name;  // "IntelCore", "IntelAtom"; "" when unknown
  CpuSet cpus;
  [[nodiscard]] friend bool operator==(const CoreKind&, const CoreKind&) = default;
};

// The reported facts about a machine, before anything is derived. Sets within one vector are disjoint and
// contain only CPUs of `cores`.
struct TopologyParts {
  std::vector<Package> packages;
  std::vector<NumaNode> numa_nodes;
  std::vector<Cache> caches;
  std::vector<CpuSet> cores;         // cores as the source reports them; every PU is in exactly one
  std::vector<CoreKind> core_kinds;  // slowest first; empty: one kind
  std::string architecture;          // as in `uname -m`
  UnitTraits traits;                 // what its PUs share, by processor family
  std::string hypervisor;            // "" on bare metal
  TopologySource source = TopologySource::live;
};

// A machine described for a test or a what-if question.
struct SyntheticMachine {
  std::string description;              // hwloc's synthetic syntax: "pack:2 l3:1 l2:4 core:1 pu:2"
  std::string family = "generic";       // a name from unit_families.h
  CpuSet absent = {};                   // PUs to omit, for asymmetric machines
  std::vector<CpuSet> core_kinds = {};  // slowest first; empty: one kind
};

// How closely two PUs share the memory hierarchy, nearest first. Comparable with <.
enum class Distance {
  same_core,
  same_fpu_group,
  shared_l2,
  shared_cache,
  same_numa_node,
  same_package,
  apart
};

// Immutable; safe to read from any number of threads.
class MILLRACE_EXPORT Topology {
 public:
  // This machine, with every online PU, including PUs that this process may not use (see usable_cpus.h).
  // Takes some milliseconds. Fails if hwloc cannot read the machine. Unit traits come from
  // UnitFamilies::identify_for_this_user(), whose errors are returned.
  [[nodiscard]] static Result<Topology> live();
  // An hwloc XML file, as written by `lstopo machine.xml`. Usage error if it is missing or malformed.
  [[nodiscard]] static Result<Topology> from_xml(const std::string& path);
  // Usage error if the description is invalid or `families` (default: built in) has no family of that name.
  [[nodiscard]] static Result<Topology> from_synthetic(const SyntheticMachine& machine);
  [[nodiscard]] static Result<Topology> from_synthetic(const SyntheticMachine& machine,
                                                       const UnitFamilies& families);

  // Derives the rest. `parts.cores` must contain at least one PU.
  explicit Topology(TopologyParts parts);

  [[nodiscard]] const CpuSet& cpus() const { return cpus_; }
  [[nodiscard]] const std::vector<Package>& packages() const { return packages_; }
  [[nodiscard]] const std::vector<NumaNode>& numa_nodes() const { return numa_nodes_; }
  // Ordered by level, then by lowest CPU. Every PU has an L1 and an L2 for data. If the source reports none,
  // one of typical size is substituted for the PUs that unit traits name, or else for each core (see
  // trust().caches_guessed).
  [[nodiscard]] const std::vector<Cache>& caches() const { return caches_; }
  // The groups of PUs that form a domain of unit traits. Ordered by lowest CPU; every PU is in exactly one.
  [[nodiscard]] const std::vector<CpuSet>& groups_of(SharingDomain domain) const {
    return groups_[static_cast<std::size_t>(domain)];
  }
  // The PUs that share integer execution units. On AMD family 15h each PU is its own core, even if the kernel
  // says otherwise.
  [[nodiscard]] const std::vector<CpuSet>& cores() const { return groups_of(traits_.integer.shared_by); }
  // The PUs that share floating-point units: a core, half of a large one, or several cores.
  [[nodiscard]] const std::vector<CpuSet>& fpu_groups() const { return groups_of(traits_.fp.shared_by); }
  // Slowest first; at least one.
  [[nodiscard]] const std::vector<CoreKind>& core_kinds() const { return core_kinds_; }
  [[nodiscard]] const std::string& architecture() const { return architecture_; }
  // The traits of the processor family, from which cores and FPU groups are derived.
  [[nodiscard]] const UnitTraits& traits() const { return traits_; }
  [[nodiscard]] const TopologyTrust& trust() const { return trust_; }

  // The same machine with the result of a probe.
  [[nodiscard]] Topology with_measured(const MeasuredSharing& measured) const {
    Topology topology = *this;
    topology.trust_.measured = measured;
    return topology;
  }

  // The set that contains `cpu`; empty if the CPU is not in this machine.
  [[nodiscard]] const CpuSet& core_of(int cpu) const;
  [[nodiscard]] const CpuSet& fpu_group_of(int cpu) const;
  // Index into core_kinds(); higher is faster. 0 if unknown.
  [[nodiscard]] int core_kind_of(int cpu) const;
  // The data or unified cache of this level that serves `cpu`, or null. Valid as long as *this.
  [[nodiscard]] const Cache* data_cache_of(int cpu, int level) const;
  // The same for the highest level.
  [[nodiscard]] const Cache* last_level_cache_of(int cpu) const;
  // The size of the smallest last-level cache that serves any of `cpus`. Nothing if no cache is known.
  [[nodiscard]] std::optional<std::int64_t> last_level_bytes(const CpuSet& cpus) const;
  // Both CPUs must be in this machine.
  [[nodiscard]] Distance distance(int a, int b) const;

 private:
  std::vector<Package> packages_;
  std::vector<NumaNode> numa_nodes_;
  std::vector<Cache> caches_;
  std::array<std::vector<CpuSet>, all_sharing_domains.size()> groups_;
  std::vector<CoreKind> core_kinds_;
  std::string architecture_;
  UnitTraits traits_;
  TopologyTrust trust_;
  CpuSet cpus_;
};

}  // namespace millrace::machine
