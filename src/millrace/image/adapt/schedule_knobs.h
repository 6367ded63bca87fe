// The knobs of schedules and the values that they may have. Pure.
#pragma once

#include "millrace/image/layout/schedule.h"
#include "millrace/machine/processor/isa.h"
#include "millrace/machine/topology/affinity_arrangement.h"
#include "millrace/tuning/space/space.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace millrace::image {

// What the optimiser may vary, and what a guess of it goes by. What is given here is fixed.
struct ScheduleFreedom {
  int max_threads = 1;
  std::vector<machine::Isa> isas;  // the best guess in front; not empty
  // `free`, or the one asked for, in front. Those that bind are combined with the first ISA only.
  std::vector<machine::ArrangementLimit> affinities{{}};
  std::optional<Fusion> fusion;
  std::optional<int> threads;
  std::optional<int> frames_in_flight;
  int max_frames_in_flight = 1 << 20;
  // Of the largest cache that workers have, which may be others' too.
  std::int64_t cache_bytes = std::int64_t{16} << 20;
};

// For each knob its values, few enough that the combinations stay a space one can search. Those of ordinal
// knobs ascend.
struct ScheduleKnobs {
  static constexpr std::size_t count = 8;

  std::vector<Structure> structures;
  std::vector<Fusion> fusions;
  std::vector<int> widths;   // of tiles; 0: all
  std::vector<int> heights;  // of tiles; 0: all
  std::vector<int> threads;
  std::vector<int> in_flight;
  std::vector<machine::AffinityArrangement> affinities;
  std::vector<machine::Isa> isas;

  [[nodiscard]] static ScheduleKnobs of(const ScheduleFreedom& freedom);

  // By the numbers of its values, knob by knob in the order above.
  [[nodiscard]] Schedule schedule(std::span<const int> numbers) const;
  // The other way round; nothing where a knob does not have the schedule's value.
  [[nodiscard]] std::optional<std::array<int, count>> numbers_of(const Schedule& schedule) const;

  // With names, as the tuner and its profiles know them.
  [[nodiscard]] std::vector<tuning::Knob> named() const;
};

}  // namespace millrace::image
