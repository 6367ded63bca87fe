// How far a topology is to be believed: what a policy may rely on, and sentences a person can read.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace millrace::machine {

enum class TopologySource {
  live,       // the machine that this program runs on
  xml,        // an hwloc XML file: some machine, at some time
  synthetic,  // a description: a machine made up
};

// What a probe of PUs found (probe/pair_judgement.h).
struct MeasuredSharing {
  int probes = 0;       // for how many in a row every pair has been what it is; 0: unclear
  bool agrees = false;  // which PUs share execution units is what the topology says

  // Before so many, a state may be a passing one: vCPUs were seen to change it within minutes.
  static constexpr int stable = 3;
  [[nodiscard]] friend bool operator==(const MeasuredSharing&, const MeasuredSharing&) = default;
};

// A value. The defaults describe a topology without doubts.
struct TopologyTrust {
  TopologySource source = TopologySource::live;
  std::string hypervisor;           // its name, "" on bare metal
  bool smt_may_be_hidden = false;   // a virtual machine whose cores all show one PU, on an SMT architecture
  bool caches_guessed = false;      // L1 or L2 not reported; typical sizes stand in
  bool caches_implausible = false;  // one cache spans several packages, which no machine has
  std::optional<MeasuredSharing> measured;  // where it was probed

  // Whether two PUs of different FPU groups are sure to have different floating-point units: by measurement,
  // where there is one that is stable, else by what speaks for and against the topology.
  [[nodiscard]] bool fpu_groups_reliable() const {
    if (measured) return measured->agrees && measured->probes >= MeasuredSharing::stable;
    return hypervisor.empty() && !smt_may_be_hidden;
  }
  // Whether the cache sizes and their sharing are a ground to compute tile sizes from.
  [[nodiscard]] bool caches_reliable() const {
    return hypervisor.empty() && !caches_guessed && !caches_implausible;
  }
  // Full sentences, most important first; at least one.
  [[nodiscard]] std::vector<std::string> sentences() const;

  [[nodiscard]] friend bool operator==(const TopologyTrust&, const TopologyTrust&) = default;
};

}  // namespace millrace::machine
