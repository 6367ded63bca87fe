// Plan: the scheduling requested for all threads of a program, as a value.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/machine/thread/scheduling_attributes.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::placement {

// How each thread's mask is chosen; masks_of() in policy.h describes each.
enum class MaskPolicy { none, one_to_one, main_least_loaded, spread, compact, llc, units };

// The policies that a user may name. `units` is not among them, because it needs observation and has its own
// option.
inline constexpr std::array all_mask_policies = {
    MaskPolicy::none,   MaskPolicy::one_to_one, MaskPolicy::main_least_loaded,
    MaskPolicy::spread, MaskPolicy::compact,    MaskPolicy::llc};

// "none", "one-to-one", "main-least-loaded", "spread", "compact", "llc", "units".
[[nodiscard]] std::string_view name_of(MaskPolicy policy);
// Accepts the names of all_mask_policies.
[[nodiscard]] std::optional<MaskPolicy> parse_mask_policy(std::string_view name);

// Members that are not set stay as the kernel has them. An empty plan leaves the program untouched.
struct Plan {
  MaskPolicy masks = MaskPolicy::none;
  std::optional<machine::SchedulingClass> scheduling_class;
  std::optional<std::int64_t> slice_ns;
  [[nodiscard]] bool untouched() const { return *this == Plan(); }
  [[nodiscard]] friend bool operator==(const Plan&, const Plan&) = default;
};

// Text such as "untouched", "class batch" or "masks one-to-one, slice 10 ms", for people and as the name in a
// profile.
[[nodiscard]] std::string to_string(const Plan& plan);
// Returns nothing if `text` was not written by to_string().
[[nodiscard]] std::optional<Plan> parse_plan(std::string_view text);

}  // namespace millrace::placement
