// Decides what two PUs share from the speed of kernels on them, alone and together. Pure.
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

// The kernels to run at the same time. An empty entry leaves the PU idle.
struct ProbeStep {
  std::optional<SharedUnit> first;
  std::optional<SharedUnit> second;
  [[nodiscard]] friend bool operator==(const ProbeStep&, const ProbeStep&) = default;
};

// All pairs of kernels, and each kernel alone on both PUs. Steps that decide the state are repeated three
// times, spread out because disturbances come in bursts. Deciding steps come first, so that a shortened probe
// is still useful.
[[nodiscard]] const std::vector<ProbeStep>& probe_steps();

// The measurement of one step.
struct ProbeWindow {
  ProbeStep step;
  double first_speed = 0;  // rounds per second; 0 if idle
  double second_speed = 0;
  bool disturbed = false;  // the system took a PU away during the window
};

struct PairMeasurement {
  std::vector<ProbeWindow> windows;
  double handover_ns = 0;  // minimum transfer time of a cache line between the PUs; 0: not measured
};

enum class PairState : std::uint8_t {
  unclear,   // too much disturbance to decide
  apart,     // no shared cache
  same_llc,  // shared last-level cache, no shared execution units
  siblings,  // shared execution units
};

// "unclear", "apart", "same LLC", "siblings".
[[nodiscard]] std::string_view name_of(PairState state);

struct PairJudgement {
  PairState state = PairState::unclear;
  std::string reason;  // one sentence
  // slowdown[u][v]: the time of kernel u next to kernel v, relative to its shortest time in any window. Mean
  // of both PUs; 0 if not measured. The shortest time is not always the one alone, because a hypervisor lends
  // an idle sibling to other guests.
  PerUnit<PerUnit<double>> slowdown;
  double handover_ns = 0;
  int disturbed = 0;  // number of windows
  int windows = 0;
};

// Siblings: on both PUs, at least two kinds of computation (int, fma, simd-int) slow down next to the same
// kind, even in their best window, and different kinds disturb each other less. The cache-line transfer must
// also be as fast as within one cache. Disturbances in some windows, or equal in all of them, never produce
// siblings. The transfer time alone separates the other two states: 130 ns or more means different caches.
[[nodiscard]] PairJudgement judge(const PairMeasurement& measurement);

// The state of a pair over several probes. A value type.
class PairHistory {
 public:
  // An unclear probe keeps the state. The third in a row makes it unclear.
  void add(PairState state);
  [[nodiscard]] PairState state() const { return state_; }
  // Number of clear probes for which the state has held; 0 if unclear.
  [[nodiscard]] int held() const { return held_; }

 private:
  PairState state_ = PairState::unclear;
  int held_ = 0;
  int unclear_ = 0;
};

// Two PUs and the probe results for them.
struct ProbedPair {
  int first = 0;
  int second = 0;
  PairJudgement last;
  PairHistory history;
};

// Groups of PUs that were measured as siblings. All other PUs form groups of their own. Ordered by lowest
// CPU.
[[nodiscard]] std::vector<CpuSet> measured_groups(const CpuSet& cpus, std::span<const ProbedPair> pairs);

}  // namespace millrace::machine
