// What schedules are expected to cost beside each other, before anything was measured. Pure.
#pragma once

#include "millrace/image/adapt/schedule_knobs.h"
#include "millrace/image/execute/group_layout.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/layout/schedule.h"
#include "millrace/tuning/space/objective.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>

namespace millrace::image {

// Relative costs as they were on the machines seen so far: a place to start from, nothing to rely on. What
// has to be known of the layout's groups and tiles is found out when it is first asked for.
class ScheduleGuess {
 public:
  // The instructions in front of the freedom are taken for the fastest. The layout must outlive the guess.
  ScheduleGuess(const FrameLayout& layout, ScheduleFreedom freedom, tuning::Aim aim);

  // What it is made for.
  [[nodiscard]] const ScheduleFreedom& freedom() const { return freedom_; }

  // Of a frame, relative to others'.
  [[nodiscard]] double cost(const Schedule& schedule);

  // Whether every pixel of the result depends on one pixel of the frame, at the same place.
  [[nodiscard]] bool pointwise() const { return pointwise_; }
  // Whether any stage reads where pixels come from by a formula, which may be rows away.
  [[nodiscard]] bool gathers() const { return gathers_; }
  // Whether what stages leave for each other stays in a cache even where whole frames of it do, so many at a
  // time: then nothing is gained by tiles.
  [[nodiscard]] bool stays_cached(int frames_in_flight) const;
  // Whether fusing into each plane what planes share costs more work than it saves passes over memory, as for
  // red, green and blue of which luma and chroma are made.
  [[nodiscard]] bool shares_unfused();
  // Of those tiles the one to begin with: the first, unless it computes clearly more than another, as wide
  // ones do behind a rotation. At least one.
  [[nodiscard]] Size least_work(Fusion fusion, std::span<const Size> tiles);
  // Frames in flight to begin with, of those counts, which ascend. Where throughput counts and frames are
  // small a frame for each thread, or as many as are not too much for a cache: who shares one waits for the
  // others at its end, which then takes as long as a part of it.
  [[nodiscard]] int first_in_flight(int threads, std::span<const int> counts) const;

 private:
  struct OfFusion {
    std::optional<GroupLayout> plane;            // the first that is computed
    double shared = 1;                           // what sharing between planes leaves to compute
    double computed = 0;                         // by all planes, see frame_work()
    std::map<std::pair<int, int>, double> work;  // what tiles of a size compute of what the frame takes
  };

  [[nodiscard]] OfFusion& of(Fusion fusion);
  // What is computed for a frame, of what is where points alone are fused: more where stages are inlined that
  // are read more than once.
  [[nodiscard]] double inlined(Fusion fusion);
  [[nodiscard]] double work_of_tiles(Fusion fusion, Size tile);

  const FrameLayout* layout_;
  ScheduleFreedom freedom_;
  tuning::Aim aim_;
  Size output_;  // of the first plane
  bool pointwise_ = false;
  bool gathers_ = false;
  std::map<Fusion, OfFusion> of_fusion_;
};

}  // namespace millrace::image
