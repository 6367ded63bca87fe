// What tests of compiled kernels share.
#pragma once

#include "millrace/image/filters/named_filters.h"
#include "millrace/image/kernel/kernel_spec.h"

#include <initializer_list>
#include <string_view>

namespace millrace::image::testing {

// Filters of one input, one behind the other, as one kernel.
inline KernelSpec chain(std::initializer_list<std::string_view> filters) {
  KernelSpec spec;
  for (const std::string_view name : filters) {
    const int input = static_cast<int>(spec.stages.size()) - 1;
    spec.stages.push_back({.filter = find_filter(name), .inputs = {input}});
  }
  return spec;
}

}  // namespace millrace::image::testing
