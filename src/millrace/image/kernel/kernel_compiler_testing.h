// Helpers for tests of the kernel compiler's process.
#pragma once

#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/image/kernel/built_in_kernels.h"
#include "millrace/image/kernel/kernel_compiler.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <sys/types.h>

namespace millrace::image {

// Path of a stand-in compiler with the named behaviour, see stand_in_compiler_main.cpp. Returns a missing
// file if the folder does not exist.
inline std::filesystem::path stand_in(const TemporaryFolder& folder, const std::string& behaviour) {
  setenv("MILLRACE_IDENTITY", std::string(kernel_compiler_identity()).c_str(), 1);
  setenv("MILLRACE_REAL_COMPILER", default_kernel_compiler().c_str(), 1);
  const std::filesystem::path link = folder.path() / behaviour;
  if (std::filesystem::exists(link.parent_path()) && !std::filesystem::exists(link))
    std::filesystem::create_symlink(MILLRACE_STAND_IN_COMPILER, link);
  return link;
}

// The number after a name in /proc/<process>/status, or an empty string.
inline std::string status_of(pid_t process, const std::string& name) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name + ":")) continue;
    const std::size_t begin = line.find_first_not_of(" \t", name.size() + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return {};
}

// Child processes of `parent` that it has not waited for, including zombies.
inline std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t process = std::stoi(name);
    if (status_of(process, "PPid") == std::to_string(parent)) children.push_back(process);
  }
  return children;
}

}  // namespace millrace::image
