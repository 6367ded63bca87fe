// Structures `backward` and `backward_store`, see schedule.h: the whole pipeline is one kernel, in which
// every stage is computed again wherever it is needed.
#pragma once

#include "millrace/image/execute/plane_buffer.h"
#include "millrace/image/execute/structure_runner.h"

namespace millrace::image {

class BackwardRunner final : public StructureRunner {
 public:
  // Each plane of `groups` is a single group, or the groups of backward_store; each reads sources alone.
  BackwardRunner(std::shared_ptr<const FrameGroups> groups, int workers, Size block);
  [[nodiscard]] std::size_t bytes() const override;

  // What was written of a stage of a plane's layout; no pixels where the structure writes none, or it is the
  // output. Pixels that the output did not need are undefined.
  [[nodiscard]] PixelView written(std::size_t plane, int stage) const;

 private:
  // The intermediates that a group writes.
  struct Buffers {
    PlaneBuffer output;  // of the last group none: the frame is
    std::vector<PlaneBuffer> stored;
  };

  Status run_frame(const FrameTask& frame, pool::Team& team) override;

  Size block_;
  std::vector<std::vector<Buffers>> buffers_;  // of each plane, of each group
};

}  // namespace millrace::image
