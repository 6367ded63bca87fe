// What two PUs share, judged by how fast kernels ran on them, alone and beside each other. Pure.
#pragma once

#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/machine/processor/demand.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::machine {

// Which kernels are to run at the same time; none: the PU idles.
struct ProbeStep {
  std::optional<SharedUnit> first;
  std::optional<SharedUnit> second;
  [[nodiscard]] friend bool operator==(const ProbeStep&, const ProbeStep&) = default;
};

// All pairs of kernels, and each alone on both PUs; those that decide the state come three times, far from
// each other, as what disturbs a measurement comes in bursts. The ones that decide are in front: less than
// all of it is of use too.
[[nodiscard]] const std::vector<ProbeStep>& probe_steps();

// A step, measured.
struct ProbeWindow {
  ProbeStep step;
  double first_speed = 0;  // rounds a second; 0 for one that idles
  double second_speed = 0;
  bool disturbed = false;  // the system took one of the PUs away meanwhile
};

struct PairMeasurement {
  std::vector<ProbeWindow> windows;
  double handover_ns = 0;  // of a cache line from one PU to the other, the least seen; 0: not measured
};

enum class PairState : std::uint8_t {
  unclear,   // disturbed too much to tell
  apart,     // no cache in common
  same_llc,  // a last-level cache in common, no execution unit
  siblings,  // execution units in common
};

// "unclear", "apart", "same LLC", "siblings".
[[nodiscard]] std::string_view name_of(PairState state);

struct PairJudgement {
  PairState state = PairState::unclear;
  std::string reason;  // one sentence
  // slowdown[u][v]: the time of kernel u beside kernel v over its least time beside anything or alone; the
  // mean of both PUs; 0 where it was not measured. The least time is not always the one alone: a hypervisor
  // lends an idle sibling to others.
  PerUnit<PerUnit<double>> slowdown;
  double handover_ns = 0;
  int disturbed = 0;  // windows
  int windows = 0;
};

// Siblings: at least two kinds of computing (int, fma, simd-int) take longer beside their like, on both PUs,
// in the best of their windows, while unlike kinds do not disturb each other as much; and a cache line goes
// from one to the other as fast as within a cache. What disturbs some windows, or all alike, never makes
// siblings. Which of the other two it is, the hand-over alone decides: 130 ns and more is another cache.
[[nodiscard]] PairJudgement judge(const PairMeasurement& measurement);

// The state of a pair over several probes. A value.
class PairHistory {
 public:
  // An unclear probe leaves it as it was; the third in a row makes it unclear.
  void add(PairState state);
  [[nodiscard]] PairState state() const { return state_; }
  // For how many clear probes it has been that; 0 while unclear.
  [[nodiscard]] int held() const { return held_; }

 private:
  PairState state_ = PairState::unclear;
  int held_ = 0;
  int unclear_ = 0;
};

// Two PUs, and what is known of them.
struct ProbedPair {
  int first = 0;
  int second = 0;
  PairJudgement last;
  PairHistory history;
};

// Groups of PUs that were measured as siblings; those of no such pair are alone. Ordered by lowest CPU.
[[nodiscard]] std::vector<CpuSet> measured_groups(const CpuSet& cpus, std::span<const ProbedPair> pairs);

}  // namespace millrace::machine
