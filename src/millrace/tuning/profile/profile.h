// A profile: a plan remembered for a workload on a machine.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/tuning/space/space.h"
#include "millrace/tuning/tuner/tuner.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::tuning {

// Identifies the workload and machine of a profile. The fields ("graph", "frame size", "machine", ...) have
// no meaning in this module. Keys are equal if all fields are.
using ProfileKey = std::map<std::string, std::string>;

// Stores candidates by name, so that a profile survives changes of the search space.
struct Profile {
  struct Cost {
    std::string candidate;
    double ratio = 1;  // relative to the plan's cost; above 0
    bool operator==(const Cost&) const = default;
  };
  std::string plan;
  std::vector<Cost> costs;
  bool operator==(const Profile&) const = default;
};

[[nodiscard]] Profile to_profile(const Remembered& remembered, const Space& space);
// Omits candidates that are not in the space. Returns nothing if the space lacks the plan itself.
[[nodiscard]] std::optional<Remembered> from_profile(const Profile& profile, const Space& space);

// {"field": "value", ...}, ordered by field name, so equal keys give equal texts.
[[nodiscard]] std::string to_text(const ProfileKey& key);
// {"version": 1, "plan": name, "costs": [{"candidate": name, "ratio": number}, ...]}
[[nodiscard]] std::string to_text(const Profile& profile);
// Fails if the text is not a profile or has another version.
[[nodiscard]] Result<Profile> parse_profile(std::string_view text);

}  // namespace millrace::tuning
