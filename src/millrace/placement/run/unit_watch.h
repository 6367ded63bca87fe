// UnitWatch: what the threads of the program use of what PUs share, observed along with the run.
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

// What `--units` asks for: nothing; observing, and keeping threads that want one unit apart where that gains
// (automatic), or always, by the rule of the WorkOver paper.
enum class UnitsMode { off, automatic, workover };
// "off", "auto", "workover".
[[nodiscard]] std::string_view name_of(UnitsMode mode);

// What came of it.
struct UnitFindings {
  UnitsMode mode = UnitsMode::off;
  intensity::Source source = intensity::Source::none;
  std::string missing;     // why not all is observed; "" where it is
  std::string not_placed;  // why no thread is placed by what it uses; "" where it may be
  std::vector<intensity::ThreadIntensity> threads;
  std::vector<intensity::DataOverlap> overlaps;
};
// {"int": 0.07, ...}: the share of each unit.
[[nodiscard]] nlohmann::json demand_json(const machine::Demand& demand);
// For a person: how many threads use what most, and what was not observed; none where it was off.
[[nodiscard]] std::vector<std::string> lines_of(const UnitFindings& findings);
// Each thread that was seen with its name and demand; null where it was off.
[[nodiscard]] nlohmann::json to_json(const UnitFindings& findings);

// Called whenever next_ns() has come; never waits. Used by one thread.
class UnitWatch {
 public:
  // `threads` outlives it. allowed: what the program may use.
  UnitWatch(UnitsMode mode, ThreadRegister& threads, const machine::Topology& topology,
            const machine::CpuSet& allowed);

  [[nodiscard]] std::int64_t next_ns() const { return next_ns_; }
  // times: of all threads so far. Once in a second it says anew who is to be kept apart
  // (Surroundings::by_unit).
  void tick(const RunTimes& times);
  // Whether it says that: where the machine's groups are to be believed.
  [[nodiscard]] bool places() const { return findings_.not_placed.empty(); }
  // On another machine from now on: CPUs have come or gone, or `allowed` has changed. Who is kept apart is
  // found anew.
  void set_machine(const machine::Topology& topology, const machine::CpuSet& allowed);
  // It only observes from now on, as somebody else places the threads.
  void leave_placing(std::string reason) { findings_.not_placed = std::move(reason); }
  // The last of what there is. The program may have ended.
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
  double switches_ = 0;  // in a second of CPU time
  std::int64_t next_ns_ = 0;
  std::int64_t next_masks_ns_ = 0;
  std::int64_t begun_ns_ = 0;
};

}  // namespace millrace::placement
