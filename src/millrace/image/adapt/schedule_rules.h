// Decides which schedules make sense for a pipeline and frame size, without duplicates. Pure.
#pragma once

#include "millrace/image/adapt/schedule_knobs.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/layout/grouping.h"

#include <map>
#include <vector>

namespace millrace::image {

// A knob without effect, given the others, has one value. Excludes structures that are equivalent to another
// for this pipeline (a pipeline in one kernel has nothing to cache or slide over), and kernels too large to
// compile.
class ScheduleRules {
 public:
  // For schedules within this freedom.
  ScheduleRules(const FrameLayout& layout, const ScheduleFreedom& freedom);

  [[nodiscard]] bool valid(const Schedule& schedule) const;
  // The same for some of a schedule's knobs. The least fusion represents all that group alike.
  [[nodiscard]] bool valid_fusion(const Schedule& schedule) const;
  [[nodiscard]] bool valid_tile(const Schedule& schedule) const;
  [[nodiscard]] static bool valid_threads(const Schedule& schedule);

 private:
  // Facts for comparing fusions and for judging structures.
  struct Groups {
    std::vector<Grouping> of_plane;
    bool gathers = false;  // in a group of its own or not
    bool one_kernel = true;
    bool least = true;     // no lesser fusion groups alike
    bool bearable = true;  // a frame, as needed for a trial, takes a bearable time

    static Groups of(const FrameLayout& layout, Fusion fusion);
  };

  [[nodiscard]] bool valid_affinity(const Schedule& schedule) const;

  machine::Isa first_isa_;
  machine::AffinityArrangement first_affinity_;
  bool alone_;  // there is only one thread
  std::map<machine::AffinityArrangement, int> most_workers_;
  std::map<Fusion, Groups> groups_;
  bool fits_one_kernel_ = true;
  Size output_;
};

}  // namespace millrace::image
