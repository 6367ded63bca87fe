#include "millrace/tuning/profile/profile_exchange.h"

#include "millrace/base/text/printable.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace millrace::tuning {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* exchange_schema = "millrace.profiles";
constexpr int exchange_version = 1;
// Limit per profile. Those that runs save have about a hundred candidates of less than a hundred bytes each.
constexpr std::size_t most_profile_bytes = std::size_t{256} << 10;

std::int64_t bytes_of(const ProfileKey& key, const Profile& profile) {
  std::size_t bytes = to_text(profile).size();
  for (const auto& [name, value] : key)
    bytes += name.size() + value.size() + 8;
  return static_cast<std::int64_t>(bytes);
}

bool is_plain(std::string_view text) { return printable(text) == text; }

bool is_plain(const KeyedProfile& keyed) {
  return std::ranges::all_of(
             keyed.key, [](const auto& field) { return is_plain(field.first) && is_plain(field.second); }) &&
         is_plain(keyed.profile.plan) &&
         std::ranges::all_of(keyed.profile.costs,
                             [](const Profile::Cost& cost) { return is_plain(cost.candidate); });
}

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
  const std::string text = alone.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (!may_travel(keyed.key) || text.size() > most_profile_bytes) return std::nullopt;
  auto profile = parse_profile(text);
  if (!profile) return std::nullopt;
  keyed.profile = *std::move(profile);
  return is_plain(keyed) ? std::optional(std::move(keyed)) : std::nullopt;
}

}  // namespace

bool may_travel(const ProfileKey& key) {
  const auto work = key.find("work");
  return work != key.end() && work->second == "run";
}

std::string export_profiles(const std::vector<KeyedProfile>& profiles) {
  Json list = Json::array();
  for (const KeyedProfile& keyed : profiles) {
    if (!may_travel(keyed.key)) continue;
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
      return usage_error(
          "{}: its profile {} was not written by 'millrace profiles export'; nothing was imported", name,
          profiles.size() + 1);
    profiles.push_back(*std::move(keyed));
  }
  return profiles;
}

Result<Imported> import_profiles(const std::vector<KeyedProfile>& profiles, ProfileStore& store) {
  const auto own = store.list();
  if (!own) return std::unexpected(own.error());
  int places = store.limits().profiles - static_cast<int>(own->size());
  std::int64_t bytes = store.limits().bytes;
  for (const StoredProfile& stored : *own)
    bytes -= bytes_of(stored.key, stored.profile ? *stored.profile : Profile{});
  Imported imported;
  std::vector<ProfileKey> taken;
  for (const KeyedProfile& keyed : profiles) {
    if (std::ranges::find(*own, keyed.key, &StoredProfile::key) != own->end() ||
        std::ranges::find(taken, keyed.key) != taken.end()) {
      ++imported.known;
      continue;
    }
    const std::int64_t needed = bytes_of(keyed.key, keyed.profile);
    if (places == 0 || needed > bytes) {
      ++imported.left_out;
      continue;
    }
    if (Status saved = store.save(keyed.key, keyed.profile); !saved) return std::unexpected(saved.error());
    taken.push_back(keyed.key);
    ++imported.taken;
    --places;
    bytes -= needed;
  }
  return imported;
}

}  // namespace millrace::tuning
