// UnitsBoard: decides which threads to keep apart, over all placed programs. Pure.
//
// Programs may be confined to different CPUs (taskset, cpusets). Programs that may use the same CPUs are
// placed together, by one of the rules of placement/units.
#pragma once

#include "millrace/machine/topology/topology.h"
#include "millrace/placement/daemon/daemon_settings.h"
#include "millrace/placement/units/unit_thread.h"
#include "millrace/placement/units/units_rule.h"
#include "millrace/placement/units/workover_rule.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace millrace::placement {

class UnitsBoard {
 public:
  // `topology` must outlive it.
  UnitsBoard(const machine::Topology& topology, const DaemonSettings& settings);

  // Returns masks by thread; threads without one compete with no other. Each thread comes with the CPUs that
  // its program may use (UnitThread::allowed). Call it once a second. now_ns: from now_ns().
  [[nodiscard]] std::map<std::int64_t, machine::CpuSet> step(std::span<const UnitThread> threads,
                                                             std::int64_t now_ns);

  // The result of the last step for programs that may use the same CPUs.
  struct Part {
    machine::CpuSet allowed;
    double gain = 0;     // predicted for the best placement compared with the present one: 0.1 is 10 % faster
    std::string reason;  // one sentence
  };
  [[nodiscard]] const Part* part_of(const machine::CpuSet& allowed) const;

 private:
  struct State {
    UnitsGround units_ground;
    WorkoverGround workover_ground;
    UnitsState units;
    WorkoverState workover;
    Part part;
  };
  [[nodiscard]] State begin(const machine::CpuSet& allowed) const;

  const machine::Topology* topology_;
  DaemonSettings settings_;
  std::map<std::string, State> states_;  // by the CPUs, as CpuSet writes them
};

}  // namespace millrace::placement
