#include "millrace/image/adapt/schedule_space.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <utility>

namespace millrace::image {
Result<ScheduleSpace> ScheduleSpace::make(const FrameLayout& layout, const ScheduleFreedom& freedom) {
  ScheduleSpace result(layout, freedom);
  const ScheduleKnobs& knobs = result.knobs_;
  const ScheduleRules& rules = result.rules_;
  auto space = tuning::Space::make(
      knobs.named(), [&](std::span<const int> numbers) { return rules.valid(knobs.schedule(numbers)); },
      [knobs](std::span<const int> numbers) { return to_string(knobs.schedule(numbers)); },
      [&](std::span<const int> first) {
        if (first.size() != 2 && first.size() != 4 && first.size() != 6) return true;
        std::array<int, ScheduleKnobs::count> padded{};  // knobs that are not given are not read
        std::ranges::copy(first, padded.begin());
        const Schedule s = knobs.schedule(padded);
        if (first.size() == 2) return rules.valid_fusion(s);
        return first.size() == 4 ? rules.valid_tile(s) : ScheduleRules::valid_threads(s);
      });
  if (!space) return std::unexpected(space.error());
  result.space_ = std::make_unique<tuning::Space>(std::move(*space));

  std::map<BuildKey, int> known;
  for (int c = 0; c < result.size(); ++c) {
    const Schedule s = result.schedule(c);
    const auto key = build_key(s);
    if (!key) {
      result.build_of_.push_back(-1);
      continue;
    }
    const auto [build, fresh] = known.try_emplace(*key, static_cast<int>(result.builds_.size()));
    if (fresh) result.builds_.push_back(build_for(layout, s));
    result.build_of_.push_back(build->second);
  }
  return result;
}

Schedule ScheduleSpace::schedule(int candidate) const { return knobs_.schedule(space_->values(candidate)); }

std::optional<int> ScheduleSpace::find(const Schedule& schedule) const {
  const auto numbers = knobs_.numbers_of(schedule);
  return numbers ? space_->find(*numbers) : std::nullopt;
}

std::vector<double> ScheduleSpace::threads() const {
  std::vector<double> counts;
  for (int c = 0; c < size(); ++c)
    counts.push_back(schedule(c).threads);
  return counts;
}

}  // namespace millrace::image
