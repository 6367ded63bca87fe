#include "millrace/placement/apply/inherited_settings.h"

#include "millrace/placement/apply/mask_changes.h"

#include <utility>

namespace millrace::placement {

void GivenStates::add(const Original& given, const Original& original) {
  if (given.mask != original.mask) masks_[given.mask.to_string()] = original.mask;
  if (attributes_of(given) != attributes_of(original)) attributes_[attributes_of(given)] = original;
}

void GivenStates::confine(const machine::CpuSet& open_then, const machine::CpuSet& open_now) {
  for (auto& [given, original] : masks_)
    if (original == open_then) original = open_now;
  auto confined_too = masks_;
  for (const auto& [given, original] : masks_)
    confined_too.emplace(confined(machine::CpuSet::parse(given).value_or(open_now), open_now).to_string(),
                         original);
  // A thread that may use all open CPUs has not chosen a mask.
  confined_too.erase(open_now.to_string());
  masks_ = std::move(confined_too);
}

Original GivenStates::before(Original state) const {
  if (const auto mask = masks_.find(state.mask.to_string()); mask != masks_.end()) state.mask = mask->second;
  if (const auto attributes = attributes_.find(attributes_of(state)); attributes != attributes_.end()) {
    state.scheduling_class = attributes->second.scheduling_class;
    state.priority = attributes->second.priority;
    state.slice_ns = attributes->second.slice_ns;
  }
  return state;
}

Origin origin_of(const Original& now, const Original* family,
                 const std::optional<InheritedSettings>& inherited, const GivenStates& given) {
  if (inherited && same_but_nice(now, inherited->last)) return {inherited->original, inherited->left_alone};
  Origin origin{given.before(now)};
  if (family == nullptr) return origin;
  if (same_but_nice(origin.original, *family)) return {*family};
  const bool own_mask = origin.original.mask == now.mask && now.mask != family->mask;
  const bool own_attributes =
      attributes_of(origin.original) == attributes_of(now) && attributes_of(now) != attributes_of(*family);
  origin.alone = own_mask || own_attributes;
  return origin;
}

}  // namespace millrace::placement
