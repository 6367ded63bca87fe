#include "millrace/placement/policy/plan.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace millrace::placement {
namespace {

constexpr std::string_view untouched_text = "untouched";
constexpr std::string_view separator = ", ";
constexpr double ns_per_ms = 1e6;

// Returns the rest of `text` after `prefix`; nothing if it begins otherwise.
std::optional<std::string_view> after(std::string_view prefix, std::string_view text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return text.substr(prefix.size());
}

std::optional<std::int64_t> parse_slice(std::string_view text) {
  double ms = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
  if (error != std::errc() || std::string_view(end, text.data() + text.size()) != " ms") return std::nullopt;
  if (!(ms > 0) || ms * ns_per_ms > static_cast<double>(machine::longest_slice_ns)) return std::nullopt;
  return static_cast<std::int64_t>(std::llround(ms * ns_per_ms));
}

bool parse_part(std::string_view part, Plan& plan) {
  if (const auto name = after("masks ", part)) {
    const auto policy =
        *name == name_of(MaskPolicy::units) ? std::optional(MaskPolicy::units) : parse_mask_policy(*name);
    plan.masks = policy.value_or(MaskPolicy::none);
    return policy && *policy != MaskPolicy::none;
  }
  if (const auto name = after("class ", part)) {
    plan.scheduling_class = machine::parse_scheduling_class(*name);
    return plan.scheduling_class.has_value();
  }
  if (const auto ms = after("slice ", part)) {
    plan.slice_ns = parse_slice(*ms);
    return plan.slice_ns.has_value();
  }
  return false;
}

}  // namespace

std::string_view name_of(MaskPolicy policy) {
  switch (policy) {
  case MaskPolicy::none:
    break;
  case MaskPolicy::one_to_one:
    return "one-to-one";
  case MaskPolicy::main_least_loaded:
    return "main-least-loaded";
  case MaskPolicy::spread:
    return "spread";
  case MaskPolicy::compact:
    return "compact";
  case MaskPolicy::llc:
    return "llc";
  case MaskPolicy::units:
    return "units";
  }
  return "none";
}

std::optional<MaskPolicy> parse_mask_policy(std::string_view name) {
  for (const MaskPolicy policy : all_mask_policies)
    if (name == name_of(policy)) return policy;
  return std::nullopt;
}

std::string to_string(const Plan& plan) {
  std::string text;
  const auto add = [&text](const std::string& part) {
    if (!text.empty()) text += separator;
    text += part;
  };
  if (plan.masks != MaskPolicy::none) add(fmt::format("masks {}", name_of(plan.masks)));
  if (plan.scheduling_class) add(fmt::format("class {}", machine::name_of(*plan.scheduling_class)));
  if (plan.slice_ns) add(fmt::format("slice {} ms", static_cast<double>(*plan.slice_ns) / ns_per_ms));
  return text.empty() ? std::string(untouched_text) : text;
}

std::optional<Plan> parse_plan(std::string_view text) {
  Plan plan;
  if (text == untouched_text) return plan;
  while (true) {
    const std::size_t end = text.find(separator);
    if (!parse_part(text.substr(0, end), plan)) return std::nullopt;
    if (end == std::string_view::npos) return plan;
    text.remove_prefix(end + separator.size());
  }
}

}  // namespace millrace::placement
