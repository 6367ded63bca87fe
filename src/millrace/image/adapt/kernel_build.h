// The kernels that a set of schedules needs and that are compiled together.
#pragma once

#include "millrace/image/kernel/kernel_spec.h"
#include "millrace/image/layout/frame_layout.h"
#include "millrace/image/layout/schedule.h"

#include <optional>
#include <tuple>
#include <vector>

namespace millrace::image {

struct KernelBuild {
  std::vector<KernelSpec> specs;
  std::vector<double> work;  // by kernel, see kernel_work.h
  machine::Isa isa = machine::Isa::baseline;
};

// Schedules with equal keys need the same build of a layout. Empty for unfused stages, whose kernels are
// built in.
using BuildKey = std::tuple<Fusion, bool, machine::Isa>;
[[nodiscard]] std::optional<BuildKey> build_key(const Schedule& schedule);

// The kernels of a schedule that has a key.
[[nodiscard]] KernelBuild build_for(const FrameLayout& layout, const Schedule& schedule);

}  // namespace millrace::image
