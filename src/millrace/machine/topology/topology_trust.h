// How reliable a topology is: what policy code may rely on, with sentences for people.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace millrace::machine {

enum class TopologySource {
  live,       // the machine on which this program runs
  xml,        // an hwloc XML file of some machine at some time
  synthetic,  // a made-up machine
};

// The result of probing PUs (probe/pair_judgement.h).
struct MeasuredSharing {
  int probes = 0;       // consecutive probes in which every pair had its present state; 0: unclear
  bool agrees = false;  // the measured sharing of execution units matches the topology

  // With fewer probes, a state may be temporary: vCPUs have been seen to change it within minutes.
  static constexpr int stable = 3;
  [[nodiscard]] friend bool operator==(const MeasuredSharing&, const MeasuredSharing&) = default;
};

// A value type. The defaults describe a topology without doubts.
struct TopologyTrust {
  TopologySource source = TopologySource::live;
  std::string hypervisor;           // its name, "" on bare metal
  bool smt_may_be_hidden = false;   // a virtual machine that shows one PU per core on an SMT architecture
  bool caches_guessed = false;      // L1 or L2 not reported; replaced by typical sizes
  bool caches_implausible = false;  // one cache spans several packages, which no real machine has
  std::optional<MeasuredSharing> measured;  // if it was probed

  // Whether PUs in different FPU groups are certain to have separate floating-point units. A stable
  // measurement decides if there is a measurement; otherwise the signs for and against the topology do.
  [[nodiscard]] bool fpu_groups_reliable() const {
    if (measured) return measured->agrees && measured->probes >= MeasuredSharing::stable;
    return hypervisor.empty() && !smt_may_be_hidden;
  }
  // Whether cache sizes and sharing are good enough to compute tile sizes.
  [[nodiscard]] bool caches_reliable() const {
    return hypervisor.empty() && !caches_guessed && !caches_implausible;
  }
  // Full sentences, most important first. At least one.
  [[nodiscard]] std::vector<std::string> sentences() const;

  [[nodiscard]] friend bool operator==(const TopologyTrust&, const TopologyTrust&) = default;
};

}  // namespace millrace::machine
