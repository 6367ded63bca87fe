// Which schedules make sense for a pipeline and a frame size, each of them once. Pure.
#pragma once

#include "millrace/image/adapt/schedule_knobs.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/layout/grouping.h"

#include <map>
#include <vector>

namespace millrace::image {

// A knob without effect under the others has one value. Left out are structures that the pipeline makes the
// same as another (one kernel for the whole pipeline leaves nothing to cache or slide over), and kernels too
// large to compile.
class ScheduleRules {
 public:
  // Of schedules that the freedom leaves.
  ScheduleRules(const FrameLayout& layout, const ScheduleFreedom& freedom);

  [[nodiscard]] bool valid(const Schedule& schedule) const;
  // The same of a part of a schedule's knobs. The least fusion stands for all that group alike.
  [[nodiscard]] bool valid_fusion(const Schedule& schedule) const;
  [[nodiscard]] bool valid_tile(const Schedule& schedule) const;
  [[nodiscard]] static bool valid_threads(const Schedule& schedule);

 private:
  // What tells whether two fusions differ, and what a structure makes of the pipeline.
  struct Groups {
    std::vector<Grouping> of_plane;
    bool gathers = false;  // in a group of its own or not
    bool one_kernel = true;
    bool least = true;     // no lesser fusion groups alike
    bool bearable = true;  // a frame of it, which a trial takes, does not take for ever

    static Groups of(const FrameLayout& layout, Fusion fusion);
  };

  [[nodiscard]] bool valid_affinity(const Schedule& schedule) const;

  machine::Isa first_isa_;
  machine::AffinityArrangement first_affinity_;
  bool alone_;  // one thread is all there is
  std::map<machine::AffinityArrangement, int> most_workers_;
  std::map<Fusion, Groups> groups_;
  bool fits_one_kernel_ = true;
  Size output_;
};

}  // namespace millrace::image
