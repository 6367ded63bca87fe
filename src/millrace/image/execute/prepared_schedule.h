// A schedule laid out for a frame layout: groups with their kernels, and the memory to run it.
#pragma once

#include "millrace/image/execute/neutral_planes.h"
#include "millrace/image/execute/stage_report.h"
#include "millrace/image/execute/structure_runner.h"
#include "millrace/image/kernel/kernel_library.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/layout/schedule.h"
#include "millrace/pool/team.h"

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

namespace millrace::image {

// Whether one kernel computes the output from the whole pipeline in this structure.
[[nodiscard]] constexpr bool is_one_kernel(Structure structure) {
  return structure == Structure::backward || structure == Structure::backward_store;
}

// Groups the stages of a plane for a schedule, without kernels. Two schedules with equal grouping need the
// same kernels, except for the stages that backward_store stores.
[[nodiscard]] GroupLayout group_layout_of(const PlaneLayout& layout, const Schedule& schedule);

// Used in three steps: find kernels, allocate memory, run. Movable, not copyable.
class PreparedSchedule {
 public:
  // Returns a usage error if the pipeline is too large for a structure that is one kernel.
  [[nodiscard]] static Result<PreparedSchedule> make(const FrameLayout& layout, const Schedule& schedule);

  [[nodiscard]] const Schedule& schedule() const { return schedule_; }

  // Requests missing kernels and returns whether all are available, or the Error of one that cannot be
  // compiled. Kernels of unfused stages are available at once, some perhaps as interim ones.
  [[nodiscard]] Result<bool> find_kernels(KernelLibrary& library);
  // Waits for the kernels, and for those that replace interim ones.
  [[nodiscard]] Status await_kernels(KernelLibrary& library, const std::stop_token& stop);
  // interim(): whether any kernel is an interim one, see Group. replace_interim(): replaces those that have
  // been compiled by now.
  [[nodiscard]] bool interim() const;
  void replace_interim(KernelLibrary& library);

  // Allocates memory. Requires that all kernels are available. Returns a failure if there is not enough
  // memory, or if several frames in flight need more than `most_bytes`.
  [[nodiscard]] Status make_runners(std::size_t most_bytes);

  // New coefficients for the same stages and sizes.
  void update(const FrameLayout& layout);

  // Processes at least one frame, frames_in_flight of them in parallel on `team`. Requires make_runners().
  [[nodiscard]] Status run(std::span<const FrameTask> frames, pool::Team& team, const Watch& watch);

  // Adds the work of all frames so far.
  void add_reports(StageReports& sums) const;
  // Keys of the reports, in the order of the stages.
  [[nodiscard]] std::vector<StageReports::key_type> report_keys() const;
  // By plane that is computed and by group.
  [[nodiscard]] std::vector<std::vector<GroupName>> group_names() const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  PreparedSchedule(const FrameLayout& layout, const Schedule& schedule);

  [[nodiscard]] Status run_frame(StructureRunner& runner, const FrameTask& frame, pool::Team& team,
                                 const Watch& watch) const;

  Schedule schedule_;
  NeutralPlanes neutral_;
  std::vector<std::size_t> computed_;    // planes that are not neutral
  std::shared_ptr<FrameGroups> groups_;  // in the order of computed_; shared with the runners
  std::vector<std::unique_ptr<StructureRunner>> runners_;  // one per frame in flight
  std::int64_t frames_ = 0;
};

}  // namespace millrace::image
