// Structure `sequential`, see schedule.h.
#pragma once

#include "millrace/image/execute/plane_buffer.h"
#include "millrace/image/execute/structure_runner.h"

namespace millrace::image {

class SequentialRunner final : public StructureRunner {
 public:
  SequentialRunner(std::shared_ptr<const FrameGroups> groups, int workers);
  [[nodiscard]] std::size_t bytes() const override;

 private:
  // Buffers of one plane. A buffer is reused when all readers of its content are done, because a small
  // working set stays in the cache.
  struct PlaneMemory {
    std::vector<PlaneBuffer> buffers;
    std::vector<int> buffer_of_group;  // -1 for the output
  };

  Status run_frame(const FrameTask& frame, pool::Team& team) override;
  [[nodiscard]] PixelView output_view(const FrameTask& frame, std::size_t plane, int group) const;

  std::vector<PlaneMemory> memory_;
};

}  // namespace millrace::image
