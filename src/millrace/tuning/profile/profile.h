// A profile: a plan remembered for a workload on a machine.
#pragma once

#include "millrace/base/result.h"
#include "millrace/tuning/space/space.h"
#include "millrace/tuning/tuner/tuner.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::tuning {

// What a profile holds for: named fields, opaque to this room ("graph", "frame size", "machine", ...). Two
// keys are the same where all fields are.
using ProfileKey = std::map<std::string, std::string>;

// Candidates by name, so that a profile outlives changes of the space.
struct Profile {
  struct Cost {
    std::string candidate;
    double ratio = 1;  // relative to the plan's cost; more than 0
    bool operator==(const Cost&) const = default;
  };
  std::string plan;
  std::vector<Cost> costs;
  bool operator==(const Profile&) const = default;
};

[[nodiscard]] Profile to_profile(const Remembered& remembered, const Space& space);
// Candidates that the space does not have are left out; nothing where it lacks the plan itself.
[[nodiscard]] std::optional<Remembered> from_profile(const Profile& profile, const Space& space);

// {"field": "value", ...}, by the fields' names: of equal keys the same.
[[nodiscard]] std::string to_text(const ProfileKey& key);
// {"version": 1, "plan": name, "costs": [{"candidate": name, "ratio": number}, ...]}
[[nodiscard]] std::string to_text(const Profile& profile);
// Failure where it is no profile or of another version.
[[nodiscard]] Result<Profile> parse_profile(std::string_view text);

}  // namespace millrace::tuning
