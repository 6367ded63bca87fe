#include "millrace/image/adapt/schedule_rules.h"

#include "millrace/image/execute/prepared_schedule.h"

#include <algorithm>

namespace millrace::image {

ScheduleRules::Groups ScheduleRules::Groups::of(const FrameLayout& layout, Fusion fusion) {
  Groups groups;
  for (const PlaneLayout& plane : layout.planes) {
    if (plane.is_neutral()) continue;
    groups.of_plane.push_back(group_stages(plane, fusion));
    groups.one_kernel = groups.one_kernel && groups.of_plane.back().size() == 1;
    groups.bearable =
        groups.bearable && evaluations_per_pixel(plane, groups.of_plane.back()) <= max_inlined_stages;
    for (const StageLayout& stage : plane.stages)
      groups.gathers = groups.gathers || stage.filter->simple().access == Access::gather;
  }
  return groups;
}

ScheduleRules::ScheduleRules(const FrameLayout& layout, const ScheduleFreedom& freedom)
    : first_isa_(freedom.isas.front()), first_affinity_(freedom.affinities.front().arrangement),
      alone_(freedom.threads.value_or(freedom.max_threads) == 1) {
  for (const machine::ArrangementLimit& limit : freedom.affinities)
    most_workers_[limit.arrangement] = limit.most_workers;
  const ScheduleKnobs knobs = ScheduleKnobs::of(freedom);
  for (const Fusion fusion : knobs.fusions) {
    Groups groups = Groups::of(layout, fusion);
    for (const auto& [lesser, known] : groups_) {
      if (lesser < fusion && known.of_plane == groups.of_plane) groups.least = false;
    }
    groups_.emplace(fusion, std::move(groups));
  }
  fits_one_kernel_ = std::ranges::all_of(layout.planes, fits_one_kernel);
  output_ = layout.planes[0].output.size;
}

bool ScheduleRules::valid(const Schedule& s) const {
  return valid_fusion(s) && valid_tile(s) && valid_threads(s) && valid_affinity(s);
}

bool ScheduleRules::valid_fusion(const Schedule& s) const {
  const Groups& groups = groups_.at(s.fusion);
  if (!groups.bearable) return false;
  if (is_one_kernel(s.structure)) return fits_one_kernel_ && s.fusion == Fusion::all;
  return groups.least;
}

bool ScheduleRules::valid_tile(const Schedule& s) const {
  const Groups& groups = groups_.at(s.fusion);
  const auto [w, h] = s.tile;
  if (w >= output_.width || h >= output_.height) return false;
  switch (s.structure) {
  case Structure::sequential:
    return w == 0 && h == 0;
  case Structure::backward:
  case Structure::backward_store:
    // Blocks matter only if a gather has an interior; else a band is one call.
    if (!groups.gathers) return w == 0 && h == 0;
    return w != 0 && h != 0 && h >= 16 && h <= 64;
  case Structure::backward_cached:
    return !groups.one_kernel && w != 0 && h != 0 && h >= 8;
  case Structure::tiled:
    return h >= 8;  // excludes 0, the whole side
  case Structure::sliding:
    return !groups.one_kernel && (w == 0 || w >= 256) && h != 0 && h <= 32;
  }
  return false;
}

bool ScheduleRules::valid_threads(const Schedule& s) { return s.frames_in_flight <= s.threads; }

// Affinity does not affect which instructions are fastest. The I/O thread's place matters only for dividing a
// single frame.
bool ScheduleRules::valid_affinity(const Schedule& s) const {
  using machine::AffinityArrangement;
  if (s.affinity == AffinityArrangement::free) return true;
  if (s.affinity == first_affinity_) return s.threads > 1 || alone_;
  if (s.affinity != AffinityArrangement::pinned && s.frames_in_flight > 1) return false;
  return s.threads > 1 && s.threads <= most_workers_.at(s.affinity) && s.isa == first_isa_;
}

}  // namespace millrace::image
