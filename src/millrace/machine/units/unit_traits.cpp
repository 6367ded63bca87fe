#include "millrace/machine/units/unit_traits.h"

#include <algorithm>
#include <fnmatch.h>

namespace millrace::machine {
namespace {

bool holds(const std::vector<std::string>& names, std::string_view name) {
  return names.empty() || std::ranges::find(names, name) != names.end();
}

}  // namespace

bool FamilyMatch::fits(const ProcessorIdentity& identity) const {
  const std::string model(identity.model);
  const auto is_like = [&](const std::string& pattern) {
    return fnmatch(pattern.c_str(), model.c_str(), 0) == 0;
  };
  return holds(architectures, identity.architecture) && holds(vendors, identity.vendor) &&
         (family_numbers.empty() ||
          std::ranges::find(family_numbers, identity.family_number) != family_numbers.end()) &&
         (models.empty() || std::ranges::any_of(models, is_like));
}

int FamilyMatch::asked() const {
  return int{!architectures.empty()} + int{!vendors.empty()} + int{!family_numbers.empty()} +
         int{!models.empty()};
}

}  // namespace millrace::machine
