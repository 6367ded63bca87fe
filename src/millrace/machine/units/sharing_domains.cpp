#include "millrace/machine/units/sharing_domains.h"

#include <algorithm>
#include <cstddef>

namespace millrace::machine {
namespace {

constexpr std::array<std::string_view, all_sharing_domains.size()> domain_words{
    "pu", "l1", "core", "module", "l2", "llc", "node", "package"};

}  // namespace

std::string_view name_of(SharingDomain domain) { return domain_words[static_cast<std::size_t>(domain)]; }

std::optional<SharingDomain> parse_sharing_domain(std::string_view name) {
  const auto* const found = std::ranges::find(domain_words, name);
  if (found == domain_words.end()) return std::nullopt;
  return all_sharing_domains[static_cast<std::size_t>(found - domain_words.begin())];
}

}  // namespace millrace::machine
