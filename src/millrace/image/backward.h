// Structures `backward` and `backward_store`, see schedule.h: the whole pipeline is one kernel, in which
// every stage is computed again wherever it is needed.
#pragma once

#include "millrace/image/plane_buffer.h"
#include "millrace/image/structure_runner.h"

namespace millrace::image {

class BackwardRunner final : public StructureRunner {
 public:
  // Each plane of `groups` must be a single group; with `store`, one that stores its stages.
  BackwardRunner(std::shared_ptr<const FrameGroups> groups, int workers, Size block, bool store);
  [[nodiscard]] std::size_t bytes() const override;

 private:
  Status run_frame(const FrameTask& frame, pool::Team& team) override;

  Size block_;
  std::vector<std::vector<PlaneBuffer>> stored_;  // for each plane, a buffer for each stored stage
};

}  // namespace millrace::image
