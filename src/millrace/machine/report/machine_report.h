// The full description of the machine, for people and programs.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/machine/limits/usable_cpus.h"
#include "millrace/machine/processor/hardware_counters.h"
#include "millrace/machine/processor/isa.h"
#include "millrace/machine/topology/topology.h"

#include <string>

#include <nlohmann/json.hpp>

namespace millrace::machine {

struct MachineReport {
  Topology topology;
  UsableCpus usable;
  Isa isa = Isa::baseline;
  CounterAvailability counters;
  std::string kernel;  // "Linux 6.1.0-18-amd64"
};

// Describes this machine for the calling thread, whose affinity counts.
[[nodiscard]] Result<MachineReport> inspect_machine();

// A few dozen lines of at most 80 columns, ending with a newline.
[[nodiscard]] std::string to_text(const MachineReport& report);

// CPU sets are list strings ("0-3,8"), sizes are bytes, unknown values are null. Existing keys are stable;
// new ones may appear. Paths of control groups may contain any bytes: use dump() with
// nlohmann::json::error_handler_t::replace.
[[nodiscard]] nlohmann::json to_json(const MachineReport& report);
[[nodiscard]] nlohmann::json to_json(const UnitTraits& traits);

}  // namespace millrace::machine
