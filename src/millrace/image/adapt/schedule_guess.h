// Expected relative costs of schedules before any measurement. Pure.
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

// Relative costs as seen on machines so far: a starting point only. Facts about the layout's groups and tiles
// are computed on first use.
class ScheduleGuess {
 public:
  // Assumes that the first instruction set in the freedom is the fastest. The layout must outlive the guess.
  ScheduleGuess(const FrameLayout& layout, ScheduleFreedom freedom, tuning::Aim aim);

  // The freedom it was made for.
  [[nodiscard]] const ScheduleFreedom& freedom() const { return freedom_; }

  // Cost of a frame, relative to other schedules.
  [[nodiscard]] double cost(const Schedule& schedule);

  // Whether every output pixel depends on only the pixel at the same place.
  [[nodiscard]] bool pointwise() const { return pointwise_; }
  // Whether any stage reads at computed places, which may be rows away.
  [[nodiscard]] bool gathers() const { return gathers_; }
  // Whether intermediates of whole frames fit in the cache with this many frames in flight. Tiles then gain
  // nothing.
  [[nodiscard]] bool stays_cached(int frames_in_flight) const;
  // Whether fusing shared stages into each plane costs more work than it saves passes over memory, as for
  // luma and chroma made from red, green and blue.
  [[nodiscard]] bool shares_unfused();
  // The tile to begin with: the first one, unless it computes clearly more than another, as wide tiles do for
  // a rotation. `tiles` must not be empty.
  [[nodiscard]] Size least_work(Fusion fusion, std::span<const Size> tiles);
  // Number of frames in flight to begin with, from `counts`, which ascend. For throughput and small frames it
  // is one per thread, or as many as fit in a cache. Threads that share a small frame wait for each other at
  // its end, which then takes as long as a part of it.
  [[nodiscard]] int first_in_flight(int threads, std::span<const int> counts) const;

 private:
  struct OfFusion {
    std::optional<GroupLayout> plane;            // the first computed plane
    double shared = 1;                           // share of work left after sharing between planes
    double computed = 0;                         // by all planes, see frame_work()
    std::map<std::pair<int, int>, double> work;  // work by tile size, relative to the frame's
  };

  [[nodiscard]] OfFusion& of(Fusion fusion);
  // Work of a frame relative to pointwise fusion. It grows if stages are inlined that are read more than
  // once.
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
