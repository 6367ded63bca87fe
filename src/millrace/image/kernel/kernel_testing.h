// Helpers for tests of compiled kernels.
#pragma once

#include "millrace/image/filters/named_filters.h"
#include "millrace/image/kernel/kernel_compiler.h"
#include "millrace/image/kernel/kernel_spec.h"

#include <initializer_list>
#include <string_view>
#include <vector>

namespace millrace::image {

// A chain of filters with one input each, as one kernel.
inline KernelSpec kernel_chain(std::initializer_list<std::string_view> filters) {
  KernelSpec spec;
  for (const std::string_view name : filters) {
    const int input = static_cast<int>(spec.stages.size()) - 1;
    spec.stages.push_back({.filter = find_filter(name), .inputs = {input}});
  }
  return spec;
}

// The machine code of a kernel from the real compiler, or empty if that is not available.
inline std::vector<std::byte> object_of(const KernelSpec& spec, machine::Isa isa) {
  const KernelCompilerOptions options;
  KernelCompiler compiler(options, Urgency::urgent);
  auto object = compiler.compile(spec, isa, StoppableWait{});
  return object ? std::move(*object) : std::vector<std::byte>{};
}

}  // namespace millrace::image
