#include "millrace/tuning/profile/profile_exchange.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace millrace::tuning {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* exchange_schema = "millrace.profiles";
constexpr int exchange_version = 1;

std::optional<KeyedProfile> keyed_profile_from(const Json& json) {
  if (!json.is_object() || !json.contains("key") || !json["key"].is_object() || json["key"].empty())
    return std::nullopt;
  KeyedProfile keyed;
  for (const auto& [name, value] : json["key"].items()) {
    if (!value.is_string()) return std::nullopt;
    keyed.key.emplace(name, value.get<std::string>());
  }
  Json alone = json;
  alone.erase("key");
  auto profile = parse_profile(alone.dump());
  if (!profile) return std::nullopt;
  keyed.profile = *std::move(profile);
  return keyed;
}

}  // namespace

std::string export_profiles(const std::vector<KeyedProfile>& profiles) {
  Json list = Json::array();
  for (const KeyedProfile& keyed : profiles) {
    Json one{{"key", keyed.key}};
    one.update(Json::parse(to_text(keyed.profile)));
    list.push_back(std::move(one));
  }
  const Json json{{"schema", exchange_schema}, {"version", exchange_version}, {"profiles", std::move(list)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::vector<KeyedProfile>> parse_profiles(std::string_view text, const std::string& name) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("schema") || json["schema"] != exchange_schema ||
      !json.contains("profiles") || !json["profiles"].is_array())
    return usage_error("{}: holds no profiles; millrace profiles export writes them", name);
  if (!json.contains("version") || json["version"] != exchange_version)
    return usage_error("{}: holds profiles of another version of millrace", name);
  std::vector<KeyedProfile> profiles;
  for (const Json& each : json["profiles"]) {
    auto keyed = keyed_profile_from(each);
    if (!keyed)
      return usage_error("{}: its profile {} is none; nothing is taken from it", name, profiles.size() + 1);
    profiles.push_back(*std::move(keyed));
  }
  return profiles;
}

Result<Imported> import_profiles(const std::vector<KeyedProfile>& profiles, ProfileStore& store) {
  const auto own = store.list();
  if (!own) return std::unexpected(own.error());
  Imported imported;
  for (const KeyedProfile& keyed : profiles) {
    if (std::ranges::find(*own, keyed.key, &StoredProfile::key) != own->end()) {
      ++imported.known;
      continue;
    }
    if (Status saved = store.save(keyed.key, keyed.profile); !saved) return std::unexpected(saved.error());
    ++imported.taken;
  }
  return imported;
}

}  // namespace millrace::tuning
