// Sharing domains: the sets of PUs that share a part of the processor, as used by unit traits.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace::machine {

// From narrow to wide; comparable with <.
enum class SharingDomain : std::uint8_t {
  pu,      // not shared
  l1,      // the PUs that share an L1 data cache: a core, or half of a large one (POWER9 and POWER10 of SMT8)
  core,    // the PUs of a core as the kernel reports it
  module,  // the PUs that share an L1 instruction cache or an L2 (AMD family 15h)
  l2,      // the PUs that share an L2 (pairs and clusters of cores)
  llc,     // the PUs that share the last-level cache
  node,    // the PUs of a NUMA node
  package,  // the PUs of a package
};

inline constexpr std::array all_sharing_domains{
    SharingDomain::pu, SharingDomain::l1,  SharingDomain::core, SharingDomain::module,
    SharingDomain::l2, SharingDomain::llc, SharingDomain::node, SharingDomain::package};

// "pu", "l1", "core", "module", "l2", "llc", "node", "package".
[[nodiscard]] std::string_view name_of(SharingDomain domain);
[[nodiscard]] std::optional<SharingDomain> parse_sharing_domain(std::string_view name);

}  // namespace millrace::machine
