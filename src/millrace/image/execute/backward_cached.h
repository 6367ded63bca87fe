// Structure `backward_cached`, see schedule.h.
#pragma once

#include "millrace/image/execute/granule_map.h"
#include "millrace/image/execute/plane_buffer.h"
#include "millrace/image/execute/structure_runner.h"

namespace millrace::image {

class BackwardCachedRunner final : public StructureRunner {
 public:
  BackwardCachedRunner(std::shared_ptr<const FrameGroups> groups, int workers, Size granule);
  [[nodiscard]] std::size_t bytes() const override;

 private:
  struct Cache {
    PlaneBuffer buffer;
    GranuleMap map;
  };

  Status run_frame(const FrameTask& frame, pool::Team& team) override;
  void compute_from_caches(const FrameTask& frame, std::size_t plane, std::size_t group,
                           const PixelView& output, int rank);
  // On return, this rectangle of the group's intermediate frame is valid.
  void ensure(const FrameTask& frame, std::size_t plane, std::size_t group, const Rect& rect, int rank);

  Size granule_;
  std::vector<std::vector<Cache>> caches_;  // by plane and group, except the last group
};

}  // namespace millrace::image
