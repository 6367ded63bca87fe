// The schedules that the optimiser may choose from, for one frame layout on one machine. Pure.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/kernel/kernel_spec.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/layout/schedule.h"
#include "millrace/tuning/space/objective.h"
#include "millrace/tuning/space/space.h"

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

namespace millrace::image {

// What the optimiser may vary. What is given here is fixed.
struct ScheduleFreedom {
  int max_threads = 1;
  std::vector<machine::Isa> isas;  // the best guess in front; not empty
  // `free`, or the one asked for, in front. Those that bind are combined with the first ISA only.
  std::vector<machine::ArrangementLimit> affinities{{}};
  std::optional<Fusion> fusion;
  std::optional<int> threads;
  std::optional<int> frames_in_flight;
  int max_frames_in_flight = 1 << 20;
};

// The kernels behind a set of schedules: what one compilation provides.
struct KernelBuild {
  std::vector<KernelSpec> specs;
  machine::Isa isa = machine::Isa::baseline;
};

// Candidates are schedules that run differently: a knob without effect under the others has one value.
//
// Left out are structures that the pipeline makes the same as another (one kernel for the whole pipeline
// leaves nothing to cache or slide over), and kernels too large to compile.
class ScheduleSpace {
 public:
  // Usage error where the freedom leaves no schedule.
  [[nodiscard]] static Result<ScheduleSpace> make(const FrameLayout& layout, const ScheduleFreedom& freedom);

  // At a fixed address: tuners keep it.
  [[nodiscard]] const tuning::Space& space() const { return *space_; }
  [[nodiscard]] int size() const { return space_->size(); }
  [[nodiscard]] Schedule schedule(int candidate) const;
  // The candidate that runs as this schedule does.
  [[nodiscard]] std::optional<int> find(const Schedule& schedule) const;

  // For each candidate, what must be compiled before it can run: an index into builds(), or -1.
  [[nodiscard]] const std::vector<int>& build_of() const { return build_of_; }
  [[nodiscard]] const std::vector<KernelBuild>& builds() const { return builds_; }

  // Whether every pixel of the result depends on one pixel of the frame, at the same place.
  [[nodiscard]] bool pointwise() const { return pointwise_; }
  // Whether any stage reads where pixels come from by a formula, which may be rows away.
  [[nodiscard]] bool gathers() const { return gathers_; }
  // Whether fusing into each plane what planes share costs more work than it saves passes over memory, as for
  // red, green and blue of which luma and chroma are made.
  [[nodiscard]] bool shares_unfused() const;

  // For each candidate, a guess of its cost relative to others, to order trials by.
  [[nodiscard]] std::vector<double> prior(tuning::Aim aim) const;
  // Frames in flight to begin with. Where throughput counts and frames are small a frame for each thread, or
  // as many as are not too much for a cache: who shares one waits for the others at its end, which then takes
  // as long as a part of it.
  [[nodiscard]] int first_in_flight(int threads, tuning::Aim aim) const;
  // Of those tiles the one to begin with: the first, unless it computes clearly more than another, as wide
  // ones do behind a rotation. At least one; of sides that the space knows.
  [[nodiscard]] Size least_work(Fusion fusion, std::span<const Size> tiles) const;
  // For each candidate, the threads it occupies.
  [[nodiscard]] std::vector<double> threads() const;

 private:
  // What the value indices of the space mean, knob by knob in its order.
  struct KnobValues {
    std::vector<Structure> structures;
    std::vector<Fusion> fusions;
    std::vector<int> widths;
    std::vector<int> heights;
    std::vector<int> threads;
    std::vector<int> in_flight;
    std::vector<machine::AffinityArrangement> affinities;
    std::vector<machine::Isa> isas;

    [[nodiscard]] Schedule schedule(std::span<const int> values) const;
  };

  ScheduleSpace() = default;

  [[nodiscard]] double work_of_tiles(Fusion fusion, Size tile) const;

  KnobValues knobs_;
  Size output_;  // of the first plane
  bool pointwise_ = false;
  bool gathers_ = false;
  std::map<Fusion, double> shared_;  // what sharing between planes leaves to compute, where tiles share
  // What tiles of a size compute of what the frame takes, where tiled schedules have such.
  std::map<std::tuple<Fusion, int, int>, double> tile_work_;
  std::unique_ptr<tuning::Space> space_;
  std::vector<int> build_of_;
  std::vector<KernelBuild> builds_;
};

}  // namespace millrace::image
