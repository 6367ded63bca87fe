// The kernels behind a set of schedules: what one compilation provides.
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
  std::vector<double> work;  // of each, see kernel_work.h
  machine::Isa isa = machine::Isa::baseline;
};

// Schedules that agree in this need the same build of a layout; nothing where stages run one by one, whose
// kernels are there.
using BuildKey = std::tuple<Fusion, bool, machine::Isa>;
[[nodiscard]] std::optional<BuildKey> build_key(const Schedule& schedule);

// What a schedule with a key needs.
[[nodiscard]] KernelBuild build_for(const FrameLayout& layout, const Schedule& schedule);

}  // namespace millrace::image
