// ProgramMemory: what earlier runs learnt of a program, and what this one leaves to later ones.
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

// Used by one thread at a time.
class ProgramMemory {
 public:
  // Reads what is stored of the program, as it is about to start. `profiles` outlives it. What a user should
  // know is added to `notes`.
  ProgramMemory(tuning::ProfileStore& profiles, const ProgramFile& program,
                const std::vector<std::string>& command, machine::CpuSet allowed,
                std::vector<std::string>& notes);

  // The plan to begin with; nothing where none is known, or it is not to be followed now.
  [[nodiscard]] const std::optional<Plan>& plan() const { return plan_; }
  // Stores what a run has found; nothing where others took too much of the CPUs, which is noted.
  void keep(Summary& summary);

 private:
  tuning::ProfileStore* profiles_;
  machine::CpuSet allowed_;
  std::optional<tuning::ProfileKey> key_;  // nothing where nothing is to be stored
  std::string processor_times_;            // as they were at the start
  std::optional<Plan> plan_;
};

}  // namespace millrace::placement
