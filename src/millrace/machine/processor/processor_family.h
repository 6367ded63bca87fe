// Which processor families share floating-point units among PUs, and how: the table behind the FPU groups.
#pragma once

#include <string_view>

namespace millrace::machine {

enum class ProcessorFamily {
  other,          // nothing special known
  x86,            // Intel, AMD and their licensees, except the entry below
  amd_family15h,  // Bulldozer, Piledriver, Steamroller, Excavator
  power7,         // IBM POWER7 and POWER7+
};

// Which PUs use one and the same set of floating-point units.
enum class FpuSharing {
  core,    // the PUs of a core, as SMT does
  module,  // the PUs that share an L1 instruction cache and an L2: two integer cores beside one FPU
};

struct ProcessorFamilyTraits {
  ProcessorFamily family;
  std::string_view name;
  FpuSharing fpu_sharing;
  std::string_view explanation;  // one sentence for a person
};

[[nodiscard]] const ProcessorFamilyTraits& traits_of(ProcessorFamily family);

// What a machine says about its processor; unknown fields are empty or -1. The spellings are those of
// /proc/cpuinfo, which hwloc passes on.
struct ProcessorIdentity {
  std::string_view architecture;  // as `uname -m`: "x86_64", "ppc64"
  std::string_view vendor;        // "AuthenticAMD"
  int family_number = -1;         // 21 is AMD family 15h
  std::string_view model;         // "AMD FX(tm)-8150 Eight-Core Processor", "POWER7 (architected)"
};

[[nodiscard]] ProcessorFamily identify_processor(const ProcessorIdentity& identity);

}  // namespace millrace::machine
