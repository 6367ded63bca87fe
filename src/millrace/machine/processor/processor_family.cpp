#include "millrace/machine/processor/processor_family.h"

#include <array>
#include <cstddef>

namespace millrace::machine {
namespace {

// In the order of ProcessorFamily. Sources: for family 15h, "Software Optimization Guide for AMD Family 15h
// Processors" (AMD 47414), section 2.1; for POWER7, Sinharoy et al., "IBM POWER7 multicore server processor",
// IBM Journal of Research and Development 55(3), 2011.
constexpr std::array table{
    ProcessorFamilyTraits{ProcessorFamily::other, "unknown processor", FpuSharing::core,
                          "the PUs of a core are taken to share its floating-point units"},
    ProcessorFamilyTraits{ProcessorFamily::x86, "x86 processor", FpuSharing::core,
                          "the PUs of a core (SMT) share its floating-point units"},
    ProcessorFamilyTraits{ProcessorFamily::amd_family15h, "AMD family 15h (Bulldozer)", FpuSharing::module,
                          "the two integer cores of a module share one floating-point unit"},
    ProcessorFamilyTraits{ProcessorFamily::power7, "IBM POWER7", FpuSharing::core,
                          "the up to four PUs of a core (SMT4) share its floating-point units"},
};

bool is_x86(std::string_view architecture) {
  return architecture == "x86_64" || architecture == "i686" || architecture == "i586" ||
         architecture == "i386";
}

}  // namespace

const ProcessorFamilyTraits& traits_of(ProcessorFamily family) {
  return table[static_cast<std::size_t>(family)];
}

ProcessorFamily identify_processor(const ProcessorIdentity& identity) {
  constexpr int family15h = 0x15;
  if (identity.model.find("POWER7") != std::string_view::npos) return ProcessorFamily::power7;
  if (identity.vendor == "AuthenticAMD" && identity.family_number == family15h)
    return ProcessorFamily::amd_family15h;
  if (is_x86(identity.architecture) || identity.vendor == "GenuineIntel" || identity.vendor == "AuthenticAMD")
    return ProcessorFamily::x86;
  return ProcessorFamily::other;
}

}  // namespace millrace::machine
