// Unit traits: what the PUs of a processor family share, and how its counters tell who uses it. Data, read
// from TOML files (unit_traits_toml.h), of which unit_families.h knows all.
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

// What a machine says about its processor; unknown fields are empty or -1. The spellings are those of
// /proc/cpuinfo, which hwloc passes on.
struct ProcessorIdentity {
  std::string_view architecture;  // as `uname -m`: "x86_64", "ppc64"
  std::string_view vendor;        // "AuthenticAMD"
  int family_number = -1;         // 21 is AMD family 15h
  std::string_view model;         // "AMD FX(tm)-8150 Eight-Core Processor", "POWER7 (architected)"
};

// Which processors a family is of. What is empty fits any; several of one kind: one of them must fit.
struct FamilyMatch {
  std::vector<std::string> architectures;
  std::vector<std::string> vendors;
  std::vector<int> family_numbers;
  std::vector<std::string> models;  // shell patterns: "POWER7*"
  [[nodiscard]] bool fits(const ProcessorIdentity& identity) const;
  // How many of the four it asks for: who asks for more is asked first.
  [[nodiscard]] int asked() const;
  [[nodiscard]] friend bool operator==(const FamilyMatch&, const FamilyMatch&) = default;
};

// Units of one kind, such as floating-point units.
struct UnitSharing {
  SharingDomain shared_by = SharingDomain::core;
  int units = 0;  // of one domain; 0: not known
  [[nodiscard]] friend bool operator==(const UnitSharing&, const UnitSharing&) = default;
};

// Whom a cache serves, where a machine does not say it itself.
struct CacheSharing {
  std::string cache;  // "l1i", "l1d", "l2", "l3"
  SharingDomain shared_by = SharingDomain::core;
  [[nodiscard]] friend bool operator==(const CacheSharing&, const CacheSharing&) = default;
};

// slowdown[u][v]: how many times as long work on unit u takes beside one thread of the same domain that works
// on v all the time. 1: they do not disturb each other.
struct DomainSlowdown {
  SharingDomain domain = SharingDomain::core;
  PerUnit<PerUnit<double>> slowdown;
  [[nodiscard]] friend bool operator==(const DomainSlowdown&, const DomainSlowdown&) = default;
};

// How counters tell what a thread uses.
struct CounterTraits {
  double interval_s = 1;                                        // between two looks
  std::vector<std::pair<std::string, std::string>> events;      // name in formulas, libpfm4's name
  std::vector<std::pair<SharedUnit, CounterFormula>> usage;     // 0 to 1, of each unit that can be told
  std::vector<std::pair<std::string, CounterFormula>> records;  // shown, never decided by: "l2_miss"
  [[nodiscard]] friend bool operator==(const CounterTraits&, const CounterTraits&) = default;
};

// A value; comparable. The defaults are those of a processor of which nothing is known.
struct UnitTraits {
  std::string family = "generic";  // its short name: letters, digits, '-'
  std::string title = "unknown processor";
  std::string explanation = "the PUs of a core are taken to share its floating-point units";
  std::string typical;            // a machine of it, as hwloc describes one; "" where none is said
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
