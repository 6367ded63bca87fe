// What a stream begins with. Pure.
#pragma once

#include "millrace/image/adapt/schedule_guess.h"
#include "millrace/image/adapt/schedule_knobs.h"
#include "millrace/image/adapt/schedule_rules.h"
#include "millrace/tuning/profile/profile.h"

#include <functional>
#include <optional>
#include <vector>

namespace millrace::image {

// What is worth trying before all else, the best guess in front: of each structure the setting that most
// often was its best, so that none is overlooked because of its tile. Empty where the freedom leaves none of
// them.
//
// The rules here and below are of the guess's layout and freedom.
[[nodiscard]] std::vector<Schedule> first_schedules(const ScheduleRules& rules, ScheduleGuess& guess);

struct Opening {
  Schedule schedule;
  bool by_profile = false;
};

// What to begin with: the profile's plan, unless the best guess is believed to be clearly better and needs
// kernels of which the profile knows nothing; without a profile the first of `first`. Of those that are
// built, unless none of them is. Nothing where there is none.
[[nodiscard]] std::optional<Opening> opening_of(const std::vector<Schedule>& first,
                                                const std::optional<tuning::Profile>& profile,
                                                const ScheduleRules& rules, ScheduleGuess& guess,
                                                const std::function<bool(const Schedule&)>& is_built);

}  // namespace millrace::image
