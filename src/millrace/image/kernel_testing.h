// What tests of compiled kernels share.
#pragma once

#include "millrace/image/kernel_spec.h"

#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <stdexcept>
#include <string>
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

// A folder that vanishes with its content.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "millrace-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace millrace::image::testing
