// Identifies machines that can share tuning results.
#pragma once

#include "millrace/machine/report/machine_report.h"

#include <string>

namespace millrace::machine {

// One line with everything that must match for the best plan of one machine to be a good start on another:
// processor name and number (family, model, stepping), caches and the number of PUs that share each, PUs and
// cores, hypervisor, and best instruction set.
[[nodiscard]] std::string processor_key(const MachineReport& machine);

// "family 25 model 17 stepping 1", read with CPUID; "" without CPUID.
[[nodiscard]] std::string processor_signature();
// The same for a given EAX of CPUID leaf 1.
[[nodiscard]] std::string signature_text(unsigned leaf_1_eax);

// The same for any machine. Pure.
[[nodiscard]] std::string processor_key(const Topology& topology, Isa isa, const std::string& signature);

}  // namespace millrace::machine
