#include "millrace/image/adapt/kernel_build.h"

#include "millrace/image/adapt/kernel_work.h"
#include "millrace/image/execute/prepared_schedule.h"

namespace millrace::image {

std::optional<BuildKey> build_key(const Schedule& schedule) {
  if (schedule.fusion == Fusion::none) return std::nullopt;
  return BuildKey{schedule.fusion, schedule.structure == Structure::backward_store, schedule.isa};
}

KernelBuild build_for(const FrameLayout& layout, const Schedule& schedule) {
  KernelBuild build{.specs = {}, .work = {}, .isa = schedule.isa};
  for (const PlaneLayout& plane : layout.planes) {
    if (plane.is_neutral()) continue;
    for (const Group& group : group_layout_of(plane, schedule).groups) {
      build.specs.push_back(group.spec);
      build.work.push_back(kernel_work(group));
    }
  }
  return build;
}

}  // namespace millrace::image
