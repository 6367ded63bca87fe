// Which machines are alike for what was learnt on one of them.
#pragma once

#include "millrace/machine/report/machine_report.h"

#include <string>

namespace millrace::machine {

// The processor's name and number (family, model, stepping), its caches and how many PUs share each, its PUs
// and cores, whether it is virtual, and its best instruction set: what is best on one machine is where to
// begin on another where all of this is the same. One line.
[[nodiscard]] std::string processor_key(const MachineReport& machine);

// "family 25 model 17 stepping 1" of the processor at hand, by CPUID; "" where there is none.
[[nodiscard]] std::string processor_signature();
// Of the EAX of CPUID leaf 1.
[[nodiscard]] std::string signature_text(unsigned leaf_1_eax);

// The same of any machine. Pure.
[[nodiscard]] std::string processor_key(const Topology& topology, Isa isa, const std::string& signature);

}  // namespace millrace::machine
