// Unit traits: what the PUs of a processor family share, and how to tell from its counters which units a
// thread uses. Pure data, read from TOML files (unit_traits_toml.h); unit_families.h lists them all.
#pragma once

#include "millrace/machine/processor/demand.h"
#include "millrace/machine/units/counter_formula.h"
#include "millrace/machine/units/sharing_domains.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::machine {

// A machine's description of its processor. Unknown fields are empty or -1. The spelling is that of
// /proc/cpuinfo, which hwloc passes on.
struct ProcessorIdentity {
  std::string_view architecture;  // as in `uname -m`: "x86_64", "ppc64"
  std::string_view vendor;        // "AuthenticAMD"
  int family_number = -1;         // 21 is AMD family 15h
  std::string_view model;         // "AMD FX(tm)-8150 Eight-Core Processor", "POWER7 (architected)"
};

// The processors of a family. An empty list matches any processor; otherwise one of its entries must match.
struct FamilyMatch {
  std::vector<std::string> architectures;
  std::vector<std::string> vendors;
  std::vector<int> family_numbers;
  std::vector<std::string> models;  // shell patterns: "POWER7*"
  [[nodiscard]] bool fits(const ProcessorIdentity& identity) const;
  // The number of non-empty lists. Families with more conditions are tried first.
  [[nodiscard]] int asked() const;
  [[nodiscard]] friend bool operator==(const FamilyMatch&, const FamilyMatch&) = default;
};

// Units of one kind, such as floating-point units.
struct UnitSharing {
  SharingDomain shared_by = SharingDomain::core;
  int units = 0;  // per domain; 0: unknown
  [[nodiscard]] friend bool operator==(const UnitSharing&, const UnitSharing&) = default;
};

// The PUs that a cache serves, if the machine does not report it.
struct CacheSharing {
  std::string cache;  // "l1i", "l1d", "l2", "l3"
  SharingDomain shared_by = SharingDomain::core;
  [[nodiscard]] friend bool operator==(const CacheSharing&, const CacheSharing&) = default;
};

// slowdown[u][v]: the factor by which work on unit u slows down next to one thread of the same domain that
// uses v all the time. 1: no interference.
struct DomainSlowdown {
  SharingDomain domain = SharingDomain::core;
  PerUnit<PerUnit<double>> slowdown;
  [[nodiscard]] friend bool operator==(const DomainSlowdown&, const DomainSlowdown&) = default;
};

// How counters reveal which units a thread uses.
struct CounterTraits {
  double interval_s = 1;                                        // between two readings
  std::vector<std::pair<std::string, std::string>> events;      // name in formulas, libpfm4's name
  std::vector<std::pair<SharedUnit, CounterFormula>> usage;     // 0 to 1, for each measurable unit
  std::vector<std::pair<std::string, CounterFormula>> records;  // shown, never used to decide: "l2_miss"
  [[nodiscard]] friend bool operator==(const CounterTraits&, const CounterTraits&) = default;
};

// A comparable value type. The defaults describe an unknown processor.
struct UnitTraits {
  std::string family = "generic";  // short name: letters, digits, '-'
  std::string title = "unknown processor";
  std::string explanation = "the PUs of a core are taken to share its floating-point units";
  std::string typical;            // an example machine in hwloc's syntax; "" if not given
  std::string from = "built in";  // or the path of the file
  FamilyMatch match;
  UnitSharing integer;
  UnitSharing fp;
  UnitSharing simd;
  std::vector<CacheSharing> caches;
  std::vector<DomainSlowdown> slowdowns;  // narrowest first
  CounterTraits counters;
  [[nodiscard]] friend bool operator==(const UnitTraits&, const UnitTraits&) = default;
};

}  // namespace millrace::machine
