#include "millrace/image/kernel/kernel_spec.h"

#include <algorithm>

#include <fmt/format.h>

namespace millrace::image {

ElementType KernelSpec::buffer_type(int buffer) const {
  for (const KernelStage& stage : stages) {
    for (int input : stage.inputs) {
      if (input == -1 - buffer) return stage.filter->input_type;
    }
  }
  return ElementType::f32;
}

bool KernelSpec::has(Access access) const {
  return std::ranges::any_of(stages,
                             [access](const KernelStage& stage) { return stage.filter->access == access; });
}

bool KernelSpec::gathered(int buffer) const {
  for (const KernelStage& stage : stages) {
    if (stage.filter->access != Access::gather) continue;
    for (int input : stage.inputs) {
      if (input == -1 - buffer) return true;
    }
  }
  return false;
}

std::string KernelSpec::key() const {
  std::string key;
  for (const KernelStage& stage : stages) {
    if (!key.empty()) key += ';';
    key += stage.filter->name;
    key += '(';
    for (std::size_t i = 0; i < stage.inputs.size(); ++i) {
      if (i > 0) key += ',';
      const int input = stage.inputs[i];
      key += input >= 0 ? fmt::format("{}", input) : fmt::format("i{}", -1 - input);
    }
    key += ')';
  }
  for (int stage : stored)
    key += fmt::format("+{}", stage);
  return key;
}

KernelSpec single_stage(const Filter& filter) {
  KernelSpec spec;
  spec.buffers = filter.inputs;
  KernelStage stage{.filter = &filter, .inputs = {}};
  for (int i = 0; i < filter.inputs; ++i)
    stage.inputs.push_back(-1 - i);
  spec.stages.push_back(std::move(stage));
  return spec;
}

}  // namespace millrace::image
