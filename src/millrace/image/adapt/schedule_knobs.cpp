#include "millrace/image/adapt/schedule_knobs.h"

#include <algorithm>
#include <set>
#include <string>

namespace millrace::image {
namespace {

constexpr int tile_widths[] = {64, 128, 256, 512, 0};
constexpr int tile_heights[] = {4, 8, 16, 32, 64, 128, 0};

std::vector<int> thread_counts(int most) {
  std::set<int> counts{1, most};
  if (most <= 4)
    counts.insert({std::min(2, most), std::min(3, most)});
  else
    counts.insert({most / 4, most / 2, most - most / 4});
  return {counts.begin(), counts.end()};
}

std::vector<int> in_flight_counts(int threads, int most) {
  std::vector<int> counts;
  for (int f : std::set<int>{1, std::min(2, threads), (threads + 1) / 2, threads}) {
    if (f <= most) counts.push_back(f);
  }
  return counts;
}

template <class T> int number_of(const std::vector<T>& values, const T& value) {
  const auto found = std::ranges::find(values, value);
  return found == values.end() ? -1 : static_cast<int>(found - values.begin());
}

template <class T, class Name>
tuning::Knob knob(const char* name, const std::vector<T>& values, bool ordinal, Name&& name_of_value) {
  tuning::Knob result{.name = name, .values = {}, .ordinal = ordinal};
  for (const T& value : values)
    result.values.emplace_back(name_of_value(value));
  return result;
}

}  // namespace

ScheduleKnobs ScheduleKnobs::of(const ScheduleFreedom& freedom) {
  ScheduleKnobs knobs;
  knobs.structures = all_structures();
  knobs.fusions = freedom.fusion ? std::vector{*freedom.fusion} : all_fusions();
  knobs.widths.assign(std::begin(tile_widths), std::end(tile_widths));
  knobs.heights.assign(std::begin(tile_heights), std::end(tile_heights));
  knobs.threads = freedom.threads ? std::vector{*freedom.threads} : thread_counts(freedom.max_threads);
  knobs.in_flight = freedom.frames_in_flight
                        ? std::vector{*freedom.frames_in_flight}
                        : in_flight_counts(knobs.threads.back(), freedom.max_frames_in_flight);
  for (const machine::ArrangementLimit& limit : freedom.affinities)
    knobs.affinities.push_back(limit.arrangement);
  knobs.isas = freedom.isas;
  return knobs;
}

Schedule ScheduleKnobs::schedule(std::span<const int> numbers) const {
  const auto at = [&](const auto& values, std::size_t knob) { return values[numbers[knob]]; };
  return {.structure = at(structures, 0),
          .fusion = at(fusions, 1),
          .tile = {at(widths, 2), at(heights, 3)},
          .threads = at(threads, 4),
          .frames_in_flight = at(in_flight, 5),
          .affinity = at(affinities, 6),
          .isa = at(isas, 7)};
}

std::optional<std::array<int, ScheduleKnobs::count>>
ScheduleKnobs::numbers_of(const Schedule& schedule) const {
  const std::array<int, count> numbers{
      number_of(structures, schedule.structure), number_of(fusions, schedule.fusion),
      number_of(widths, schedule.tile.width),    number_of(heights, schedule.tile.height),
      number_of(threads, schedule.threads),      number_of(in_flight, schedule.frames_in_flight),
      number_of(affinities, schedule.affinity),  number_of(isas, schedule.isa)};
  if (std::ranges::find(numbers, -1) != numbers.end()) return std::nullopt;
  return numbers;
}

std::vector<tuning::Knob> ScheduleKnobs::named() const {
  const auto name = [](auto value) { return name_of(value); };
  const auto side = [](int length) { return length == 0 ? std::string("all") : std::to_string(length); };
  const auto number = [](int value) { return std::to_string(value); };
  return {knob("structure", structures, false, name),
          knob("fusion", fusions, true, name),
          knob("tile_width", widths, true, side),
          knob("tile_height", heights, true, side),
          knob("threads", threads, true, number),
          knob("frames_in_flight", in_flight, true, number),
          knob("affinity", affinities, false,
               [](machine::AffinityArrangement affinity) { return machine::name_of(affinity); }),
          knob("isa", isas, false, [](machine::Isa isa) { return machine::name_of(isa); })};
}

}  // namespace millrace::image
