#include "millrace/image/adapt/first_schedules.h"

#include "millrace/image/adapt/kernel_build.h"
#include "millrace/tuning/estimate/prior_belief.h"

#include <algorithm>
#include <array>

namespace millrace::image {
std::vector<Schedule> first_schedules(const ScheduleRules& rules, ScheduleGuess& guess) {
  const ScheduleFreedom& freedom = guess.freedom();
  const ScheduleKnobs knobs = ScheduleKnobs::of(freedom);
  const int threads = freedom.threads.value_or(freedom.max_threads);
  const int in_flight = guess.first_in_flight(threads, knobs.in_flight);
  std::vector<Schedule> first;
  const auto add = [&](Structure structure, Fusion fusion, Size tile, int frames_in_flight) {
    const Schedule schedule{.structure = structure,
                            .fusion = fusion,
                            .tile = tile,
                            .threads = threads,
                            .frames_in_flight = frames_in_flight,
                            .affinity = freedom.affinities.front().arrangement,
                            .isa = freedom.isas.front()};
    if (knobs.numbers_of(schedule) && rules.valid(schedule) &&
        std::ranges::find(first, schedule) == first.end())
      first.push_back(schedule);
  };
  constexpr std::array tiles{Size{256, 64}, Size{128, 128}};
  const Size single = guess.least_work(Fusion::none, tiles);
  const Size fused = guess.least_work(freedom.fusion.value_or(Fusion::pointwise), tiles);
  if (!freedom.fusion && guess.shares_unfused()) add(Structure::tiled, Fusion::none, single, in_flight);
  // One kernel that reads and writes each pixel once has nothing to keep in a cache, and small frames fit in
  // one anyway: tiles would only add calls.
  if (guess.pointwise() || (!guess.gathers() && guess.stays_cached(in_flight)))
    add(Structure::sequential, Fusion::pointwise, {0, 0}, in_flight);
  // Sliding windows compute nothing twice, but must keep many rows for a gather.
  if (!guess.gathers()) add(Structure::sliding, Fusion::pointwise, {0, 32}, in_flight);
  add(Structure::tiled, Fusion::pointwise, fused, in_flight);
  // A short stream has time for only the first two or three of these.
  add(Structure::sequential, Fusion::pointwise, {0, 0}, in_flight);
  add(Structure::sliding, Fusion::pointwise, {0, 32}, in_flight);
  add(Structure::tiled, Fusion::pointwise, {0, 64}, in_flight);
  add(Structure::backward_cached, Fusion::pointwise, {256, 64}, in_flight);
  for (const Size& tile : tiles)
    add(Structure::tiled, Fusion::pointwise, tile, in_flight);
  add(Structure::backward, Fusion::all, {0, 0}, in_flight);
  add(Structure::backward, Fusion::all, {256, 16}, in_flight);
  if (!freedom.frames_in_flight)
    add(Structure::tiled, Fusion::pointwise, fused, in_flight == 1 ? threads : 1);
  // The first that can run if nothing is compiled yet.
  if (!guess.gathers() && guess.stays_cached(in_flight))
    add(Structure::sequential, Fusion::none, {0, 0}, in_flight);
  add(Structure::tiled, Fusion::none, single, in_flight);
  // For frames smaller than a tile.
  if (std::ranges::all_of(first, [](const Schedule& schedule) { return build_key(schedule).has_value(); }))
    add(Structure::sequential, Fusion::none, {0, 0}, in_flight);
  return first;
}

std::optional<Opening> opening_of(const std::vector<Schedule>& first,
                                  const std::optional<tuning::Profile>& profile, const ScheduleRules& rules,
                                  ScheduleGuess& guess,
                                  const std::function<bool(const Schedule&)>& is_built) {
  const ScheduleKnobs knobs = ScheduleKnobs::of(guess.freedom());
  const std::vector<tuning::Knob> names = profile ? knobs.named() : std::vector<tuning::Knob>{};
  const auto known = [&](const std::string& name) -> std::optional<Schedule> {
    const auto numbers = tuning::values_of(names, name);
    if (!numbers) return std::nullopt;
    const Schedule schedule = knobs.schedule(*numbers);
    return rules.valid(schedule) ? std::optional(schedule) : std::nullopt;
  };
  const auto plan = profile ? known(profile->plan) : std::nullopt;
  if (plan && is_built(*plan)) {
    if (first.empty()) return Opening{*plan, true};
    const Schedule& best = first.front();
    const auto build = build_key(best);
    const auto tells_of_build = [&](const tuning::Profile::Cost& cost) {
      const auto remembered = known(cost.candidate);
      return remembered && build_key(*remembered) == build;
    };
    const bool unknown =
        build && build_key(*plan) != build && std::ranges::none_of(profile->costs, tells_of_build);
    const bool better =
        unknown && tuning::believed_log_ratio(guess.cost(best), guess.cost(*plan)) < -tuning::clearly_better;
    return better && is_built(best) ? Opening{best, false} : Opening{*plan, true};
  }
  if (first.empty()) return std::nullopt;
  const auto found = std::ranges::find_if(first, is_built);
  return Opening{found != first.end() ? *found : first.front(), false};
}

}  // namespace millrace::image
