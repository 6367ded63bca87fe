// The knobs of schedules and their possible values. Pure.
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

// What the optimiser may vary, and facts that guesses depend on. Optional values that are set are fixed.
struct ScheduleFreedom {
  int max_threads = 1;
  std::vector<machine::Isa> isas;  // best guess first; not empty
  // `free`, or the requested one, first. Arrangements that pin threads are combined only with the first ISA.
  std::vector<machine::ArrangementLimit> affinities{{}};
  std::optional<Fusion> fusion;
  std::optional<int> threads;
  std::optional<int> frames_in_flight;
  int max_frames_in_flight = 1 << 20;
  // Size of the largest cache of the workers, which others may share.
  std::int64_t cache_bytes = std::int64_t{16} << 20;
};

// The values of each knob, few enough that the combinations can be searched. Those of ordinal knobs ascend.
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

  // The schedule with these value indices, knob by knob in the order above.
  [[nodiscard]] Schedule schedule(std::span<const int> numbers) const;
  // The inverse. Returns nothing if a knob does not have the schedule's value.
  [[nodiscard]] std::optional<std::array<int, count>> numbers_of(const Schedule& schedule) const;

  // With the names used by the tuner and its profiles.
  [[nodiscard]] std::vector<tuning::Knob> named() const;
};

}  // namespace millrace::image
