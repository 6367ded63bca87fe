// All that millrace knows of the machine it runs on, for people and for programs.
#pragma once

#include "millrace/base/result.h"
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

// The machine at hand, for the calling thread (its affinity counts).
[[nodiscard]] Result<MachineReport> inspect_machine();

// A few dozen lines of at most 80 columns, ended by a newline.
[[nodiscard]] std::string to_text(const MachineReport& report);

// CPU sets as list strings ("0-3,8"), sizes in bytes, unknown values null. Keys are stable: others may be
// added. Paths of control groups may hold any bytes: dump() it with nlohmann::json::error_handler_t::replace.
[[nodiscard]] nlohmann::json to_json(const MachineReport& report);
[[nodiscard]] nlohmann::json to_json(const UnitTraits& traits);

}  // namespace millrace::machine
