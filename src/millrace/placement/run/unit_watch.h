// UnitWatch: observes during the run which shared execution units and memory levels the program's threads
// use.
#pragma once

#include "millrace/intensity/watch/intensity_watch.h"
#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/machine/topology/topology.h"
#include "millrace/placement/apply/thread_register.h"
#include "millrace/placement/task/task_files.h"
#include "millrace/placement/units/units_rule.h"
#include "millrace/placement/units/workover_rule.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace millrace::placement {

// The modes of `--units`. off: nothing. automatic: observe, and keep threads that compete for a unit apart if
// that gains. workover: always keep them apart by the rule of the WorkOver paper.
enum class UnitsMode { off, automatic, workover };
// "off", "auto", "workover".
[[nodiscard]] std::string_view name_of(UnitsMode mode);

// The results.
struct UnitFindings {
  UnitsMode mode = UnitsMode::off;
  intensity::Source source = intensity::Source::none;
  std::string missing;     // why not everything is observed; "" if it is
  std::string not_placed;  // why no thread is placed by what it uses; "" if threads may be
  std::vector<intensity::ThreadIntensity> threads;
  std::vector<intensity::DataOverlap> overlaps;
};
// {"int": 0.07, ...}: the share of each unit.
[[nodiscard]] nlohmann::json demand_json(const machine::Demand& demand);
// For a person: how many threads mostly use which unit, and what was not observed; empty if off.
[[nodiscard]] std::vector<std::string> lines_of(const UnitFindings& findings);
// Each observed thread with its name and demand; null if off.
[[nodiscard]] nlohmann::json to_json(const UnitFindings& findings);

// Call tick() when next_ns() has come. It never blocks. Not thread-safe.
class UnitWatch {
 public:
  // `threads` must outlive it. allowed: the CPUs that the program may use.
  UnitWatch(UnitsMode mode, ThreadRegister& threads, const machine::Topology& topology,
            const machine::CpuSet& allowed);

  [[nodiscard]] std::int64_t next_ns() const { return next_ns_; }
  // times: of all threads so far. Once a second it decides anew which threads to keep apart
  // (MachineState::by_unit).
  void tick(const RunTimes& times);
  // True if it places threads, which needs trustworthy FPU groups.
  [[nodiscard]] bool places() const { return findings_.not_placed.empty(); }
  // Call this if CPUs came or went, or if `allowed` changed. The threads to keep apart are found anew.
  void set_machine(const machine::Topology& topology, const machine::CpuSet& allowed);
  // Only observes from now on, because another process places the threads.
  void leave_placing(std::string reason) { findings_.not_placed = std::move(reason); }
  // Returns the final results. The program may have ended.
  [[nodiscard]] UnitFindings finish();

 private:
  void keep_apart(std::int64_t now);

  ThreadRegister* threads_;
  WorkoverGround workover_ground_;
  UnitsGround units_ground_;
  WorkoverState workover_;
  UnitsState units_;
  intensity::IntensityWatch watch_;
  UnitFindings findings_;
  RunTimes times_;
  double switches_ = 0;  // per second of CPU time
  std::int64_t next_ns_ = 0;
  std::int64_t next_masks_ns_ = 0;
  std::int64_t begun_ns_ = 0;
};

}  // namespace millrace::placement
