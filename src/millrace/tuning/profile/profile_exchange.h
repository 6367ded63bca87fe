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

// Whether it may travel: those of work that verifies what it starts from. Others hold where they were proven.
[[nodiscard]] bool may_travel(const ProfileKey& key);

// {"schema": "millrace.profiles", "version": 1, "profiles": [{"key": {...}, "plan": ..., "costs": [...]},
// ...]}; of those that may travel.
[[nodiscard]] std::string export_profiles(const std::vector<KeyedProfile>& profiles);
// Usage error, of one line that calls it `name`, where it is none or holds one that is not to be had: of
// other work, without end, or with what would act on a terminal; nothing is taken from it then.
[[nodiscard]] Result<std::vector<KeyedProfile>> parse_profiles(std::string_view text,
                                                               const std::string& name);

struct Imported {
  int taken = 0;
  int known = 0;     // the store has one of its own for the same key, which stays
  int left_out = 0;  // the store is full: nothing of its own makes room for what others have learnt
};
// Into a store. A profile is where a search begins, never what it ends with: one that is wrong is found out
// by the first run that measures it, and replaced.
[[nodiscard]] Result<Imported> import_profiles(const std::vector<KeyedProfile>& profiles,
                                               ProfileStore& store);

}  // namespace millrace::tuning
