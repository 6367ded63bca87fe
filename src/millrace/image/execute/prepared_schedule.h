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

// Whether the output of a structure comes from one kernel for the whole pipeline.
[[nodiscard]] constexpr bool is_one_kernel(Structure structure) {
  return structure == Structure::backward || structure == Structure::backward_store;
}

// How a schedule groups the stages of a plane, without kernels. Two schedules of equal grouping need the same
// ones, but for what backward_store stores.
[[nodiscard]] GroupLayout group_layout_of(const PlaneLayout& layout, const Schedule& schedule);

// First its kernels are found, then its memory is made, then it runs. Moved, not copied.
class PreparedSchedule {
 public:
  // Usage error where the pipeline is too large for a structure that is one kernel.
  [[nodiscard]] static Result<PreparedSchedule> make(const FrameLayout& layout, const Schedule& schedule);

  [[nodiscard]] const Schedule& schedule() const { return schedule_; }

  // Requests the kernels that are not there and returns whether all are; the Error of one that cannot be
  // compiled. Where stages are not fused they are there at once, some of them perhaps interim ones.
  [[nodiscard]] Result<bool> find_kernels(KernelLibrary& library);
  // Waits for them, and for what interim ones stand for.
  [[nodiscard]] Status await_kernels(KernelLibrary& library, const std::stop_token& stop);
  // Whether a kernel is an interim one, see Group; and what puts the compiled ones in their place where they
  // are there by now.
  [[nodiscard]] bool interim() const;
  void replace_interim(KernelLibrary& library);

  // The memory. Only where all kernels are there. Failure where there is none, or where several frames in
  // flight take more than `most_bytes`.
  [[nodiscard]] Status make_runners(std::size_t most_bytes);

  // Other coefficients for the same stages and sizes.
  void update(const FrameLayout& layout);

  // Processes frames, at least one, frames_in_flight of them side by side on `team`. Only with runners.
  [[nodiscard]] Status run(std::span<const FrameTask> frames, pool::Team& team, const Watch& watch);

  // Adds the work of all frames so far.
  void add_reports(StageReports& sums) const;
  // Keys of the reports in the order of the stages.
  [[nodiscard]] std::vector<StageReports::key_type> report_keys() const;
  // Of each plane that is computed, of each group.
  [[nodiscard]] std::vector<std::vector<GroupName>> group_names() const;
  [[nodiscard]] std::size_t bytes() const;

 private:
  PreparedSchedule(const FrameLayout& layout, const Schedule& schedule);

  [[nodiscard]] Status run_frame(StructureRunner& runner, const FrameTask& frame, pool::Team& team,
                                 const Watch& watch) const;

  Schedule schedule_;
  NeutralPlanes neutral_;
  std::vector<std::size_t> computed_;                      // the planes that are not neutral, one for each of
  std::shared_ptr<FrameGroups> groups_;                    // these, which the runners read
  std::vector<std::unique_ptr<StructureRunner>> runners_;  // one for each frame in flight
  std::int64_t frames_ = 0;
};

}  // namespace millrace::image
