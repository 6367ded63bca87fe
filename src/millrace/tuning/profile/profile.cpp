#include "millrace/tuning/profile/profile.h"

#include "millrace/base/text/json_text.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace::tuning {
namespace {

constexpr int version = 1;

std::optional<Profile::Cost> parse_cost(const nlohmann::json& json) {
  if (!json.is_object()) return std::nullopt;
  const auto candidate = json.find("candidate");
  const auto ratio = json.find("ratio");
  if (candidate == json.end() || ratio == json.end() || !candidate->is_string() || !ratio->is_number())
    return std::nullopt;
  const Profile::Cost cost{candidate->get<std::string>(), ratio->get<double>()};
  return cost.ratio > 0 && std::isfinite(cost.ratio) ? std::optional(cost) : std::nullopt;
}

}  // namespace

Profile to_profile(const Remembered& remembered, const Space& space) {
  Profile profile{.plan = space.name_of(remembered.incumbent)};
  for (const RememberedCost& cost : remembered.costs) {
    profile.costs.push_back({space.name_of(cost.candidate), cost.ratio});
  }
  return profile;
}

std::optional<Remembered> from_profile(const Profile& profile, const Space& space) {
  const auto plan = space.find(std::string_view(profile.plan));
  if (!plan) return std::nullopt;
  Remembered remembered{.incumbent = *plan};
  for (const Profile::Cost& cost : profile.costs) {
    if (const auto candidate = space.find(std::string_view(cost.candidate))) {
      remembered.costs.push_back({*candidate, cost.ratio});
    }
  }
  return remembered;
}

std::string to_text(const ProfileKey& key) {
  std::string text = "{";
  for (const auto& [name, value] : key)
    text += fmt::format("{}{}:{}", text.size() > 1 ? "," : "", json_text(name), json_text(value));
  return text + "}";
}

std::string to_text(const Profile& profile) {
  std::string costs;
  for (const Profile::Cost& cost : profile.costs)
    costs += fmt::format("{}{{\"candidate\":{},\"ratio\":{}}}", costs.empty() ? "" : ",",
                         json_text(cost.candidate), nlohmann::json(cost.ratio).dump());
  return fmt::format("{{\"costs\":[{}],\"plan\":{},\"version\":{}}}", costs, json_text(profile.plan),
                     version);
}

Result<Profile> parse_profile(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object())
    return failure("a stored profile is not a JSON object; remove it with 'millrace profiles clear'");
  const auto found = json.find("version");
  if (found == json.end() || *found != version) {
    return failure("a stored profile is of version {}, not {}; it is ignored",
                   found == json.end() ? "?" : found->dump(), version);
  }
  const auto plan = json.find("plan");
  const auto costs = json.find("costs");
  if (plan == json.end() || !plan->is_string() || costs == json.end() || !costs->is_array()) {
    return failure("a stored profile lacks its plan or its costs; clear the profiles to be rid of it");
  }
  Profile profile{.plan = plan->get<std::string>()};
  for (const nlohmann::json& entry : *costs) {
    const auto cost = parse_cost(entry);
    if (!cost)
      return failure("a stored profile has an invalid cost; remove it with 'millrace profiles clear'");
    profile.costs.push_back(*cost);
  }
  return profile;
}

}  // namespace millrace::tuning
