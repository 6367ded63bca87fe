// ProgramMemory: what earlier runs learnt about a program, and what this run stores for later ones.
#pragma once

#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/placement/policy/plan.h"
#include "millrace/placement/program/program_file.h"
#include "millrace/placement/run/summary.h"
#include "millrace/tuning/profile/profile_store.h"

#include <optional>
#include <string>
#include <vector>

namespace millrace::placement {

// Not thread-safe.
class ProgramMemory {
 public:
  // Reads what is stored about the program, just before it starts. `profiles` must outlive it. Adds notes for
  // the user to `notes`.
  ProgramMemory(tuning::ProfileStore& profiles, const ProgramFile& program,
                const std::vector<std::string>& command, machine::CpuSet allowed,
                std::vector<std::string>& notes);

  // The plan to begin with; nothing if none is known or it must not be followed now.
  [[nodiscard]] const std::optional<Plan>& plan() const { return plan_; }
  // Stores what a run has found. Stores nothing, and notes that, if others used too much of the CPUs.
  void keep(Summary& summary);

 private:
  // Takes a while, because it reads /proc/cpuinfo.
  [[nodiscard]] tuning::ProfileKey key() const;

  tuning::ProfileStore* profiles_;
  machine::CpuSet allowed_;
  ProgramFile program_;
  std::vector<std::string> command_;
  bool keeps_ = true;            // false: nothing will be stored
  std::string processor_times_;  // at the start
  std::optional<Plan> plan_;
};

}  // namespace millrace::placement
