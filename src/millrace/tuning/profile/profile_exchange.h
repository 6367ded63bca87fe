// Exports and imports profiles between machines as JSON.
#pragma once

#include "millrace/tuning/profile/profile_store.h"

#include <string>
#include <string_view>
#include <vector>

namespace millrace::tuning {

struct KeyedProfile {
  ProfileKey key;
  Profile profile;

  bool operator==(const KeyedProfile&) const = default;
};

// Whether the profile may be exported. Only profiles of work that verifies its start may; others are valid
// only on the machine where they were proven.
[[nodiscard]] bool may_travel(const ProfileKey& key);

// {"schema": "millrace.profiles", "version": 1, "profiles": [{"key": {...}, "plan": ..., "costs": [...]},
// ...]}. Contains only profiles that may travel.
[[nodiscard]] std::string export_profiles(const std::vector<KeyedProfile>& profiles);
// Returns a one-line usage error that calls the text `name` if it is not a valid export. All profiles are
// rejected if one of them is of other work, too large, or contains terminal control characters.
[[nodiscard]] Result<std::vector<KeyedProfile>> parse_profiles(std::string_view text,
                                                               const std::string& name);

struct Imported {
  int taken = 0;
  int known = 0;     // already in the store under the same key; the store's own profile stays
  int left_out = 0;  // the store is full; imported profiles never displace its own
};
// Imports into a store. A profile only starts a search and never decides its result. The first run that
// measures a wrong profile detects and replaces it.
[[nodiscard]] Result<Imported> import_profiles(const std::vector<KeyedProfile>& profiles,
                                               ProfileStore& store);

}  // namespace millrace::tuning
