// Profiles on their way from one machine to another, as JSON.
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

// {"schema": "millrace.profiles", "version": 1, "profiles": [{"key": {...}, "plan": ..., "costs": [...]},
// ...]}
[[nodiscard]] std::string export_profiles(const std::vector<KeyedProfile>& profiles);
// Usage error, of one line that calls it `name`, where it is none; nothing is taken from it then.
[[nodiscard]] Result<std::vector<KeyedProfile>> parse_profiles(std::string_view text,
                                                               const std::string& name);

struct Imported {
  int taken = 0;
  int known = 0;  // the store has one of its own for the same key, which stays
};
// Into a store. A profile is where a search begins, never what it ends with: one that is wrong is found out
// by the first run that measures it, and replaced.
[[nodiscard]] Result<Imported> import_profiles(const std::vector<KeyedProfile>& profiles,
                                               ProfileStore& store);

}  // namespace millrace::tuning
