// Plan: what is asked for all threads of a program, as a value.
#pragma once

#include "millrace/base/result.h"
#include "millrace/machine/cpus/cpu_set.h"
#include "millrace/machine/thread/scheduling_attributes.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::placement {

// How the mask of each thread is found; see policy.h for what each does.
enum class MaskPolicy { none, one_to_one, main_least_loaded, spread, compact, llc, units };

// Those that a user may name; `units` is asked for by other means, as it needs observing.
inline constexpr std::array all_mask_policies = {
    MaskPolicy::none,   MaskPolicy::one_to_one, MaskPolicy::main_least_loaded,
    MaskPolicy::spread, MaskPolicy::compact,    MaskPolicy::llc};

// "none", "one-to-one", "main-least-loaded", "spread", "compact", "llc", "units".
[[nodiscard]] std::string_view name_of(MaskPolicy policy);
// Of all_mask_policies.
[[nodiscard]] std::optional<MaskPolicy> parse_mask_policy(std::string_view name);

// What is left out stays as the kernel has it; a plan without anything leaves the program untouched.
struct Plan {
  MaskPolicy masks = MaskPolicy::none;
  std::optional<machine::SchedulingClass> scheduling_class;
  std::optional<std::int64_t> slice_ns;
  [[nodiscard]] bool untouched() const { return *this == Plan(); }
  [[nodiscard]] friend bool operator==(const Plan&, const Plan&) = default;
};

// "untouched", "class batch", "masks one-to-one, slice 10 ms": for people, and the name in a profile.
[[nodiscard]] std::string to_string(const Plan& plan);
// Nothing where it is not what to_string() writes.
[[nodiscard]] std::optional<Plan> parse_plan(std::string_view text);

}  // namespace millrace::placement
