// Structures `backward` and `backward_store`, see schedule.h: the whole pipeline is one kernel that
// recomputes every stage wherever it is needed.
#pragma once

#include "millrace/image/execute/plane_buffer.h"
#include "millrace/image/execute/structure_runner.h"

namespace millrace::image {

class BackwardRunner final : public StructureRunner {
 public:
  // Each plane of `groups` is a single group, or the groups of backward_store. Every group reads only
  // sources.
  BackwardRunner(std::shared_ptr<const FrameGroups> groups, int workers, Size block);
  [[nodiscard]] std::size_t bytes() const override;

  // The stored pixels of a stage of a plane's layout. Empty if the structure stores nothing or the stage is
  // the output. Pixels that the output did not need are undefined.
  [[nodiscard]] PixelView written(std::size_t plane, int stage) const;

 private:
  // The intermediates that a group writes.
  struct Buffers {
    PlaneBuffer output;  // empty for the last group, which writes to the frame
    std::vector<PlaneBuffer> stored;
  };

  Status run_frame(const FrameTask& frame, pool::Team& team) override;

  Size block_;
  std::vector<std::vector<Buffers>> buffers_;  // by plane and group
};

}  // namespace millrace::image
