// The first schedules of a stream. Pure.
#pragma once

#include "millrace/image/adapt/schedule_guess.h"
#include "millrace/image/adapt/schedule_knobs.h"
#include "millrace/image/adapt/schedule_rules.h"
#include "millrace/tuning/profile/profile.h"

#include <functional>
#include <optional>
#include <vector>

namespace millrace::image {

// The schedules to try first, beginning with the best guess. For each structure, the setting that was most
// often its best, so that no structure is missed because of its tile size. Empty if the freedom excludes all
// of them.
//
// The rules here and below must be for the guess's layout and freedom.
[[nodiscard]] std::vector<Schedule> first_schedules(const ScheduleRules& rules, ScheduleGuess& guess);

struct Opening {
  Schedule schedule;
  bool by_profile = false;
};

// The schedule to begin with: the profile's plan, unless the best guess is believed to be clearly better and
// needs kernels that the profile does not know. Without a profile, the first of `first`. Prefers schedules
// whose kernels are built. Returns nothing if there is no schedule.
[[nodiscard]] std::optional<Opening> opening_of(const std::vector<Schedule>& first,
                                                const std::optional<tuning::Profile>& profile,
                                                const ScheduleRules& rules, ScheduleGuess& guess,
                                                const std::function<bool(const Schedule&)>& is_built);

}  // namespace millrace::image
