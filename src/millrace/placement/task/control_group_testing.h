// For tests: a real control group, of either version, which is removed at the end.
//
//   auto group = TestingGroup::make("cpuset");
//   if (!group) GTEST_SKIP() << "no control groups can be made here";
//   group->allow(CpuSet{0});
//   group->take_in(process);
#pragma once

#include "millrace/base/testing/eventually_testing.h"
#include "millrace/machine/cpus/cpu_set.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <tuple>
#include <unistd.h>
#include <utility>

#include <sys/types.h>

namespace millrace::placement {

class TestingGroup {
 public:
  // Makes a group with that controller. Returns nothing if this user may not.
  [[nodiscard]] static std::optional<TestingGroup> make(const std::string& controller) {
    const std::filesystem::path all = "/sys/fs/cgroup";
    std::error_code error;
    // Version 1 has a hierarchy for each controller.
    const bool separate = std::filesystem::exists(all / controller / "cgroup.procs", error);
    const std::filesystem::path hierarchy = separate ? all / controller : all;
    if (!separate && !write(hierarchy / "cgroup.subtree_control", "+" + controller)) return std::nullopt;
    TestingGroup made(hierarchy, "millrace-test-" + std::to_string(getpid()));
    if (!std::filesystem::create_directory(made.folder(), error)) {
      made.name_.clear();
      return std::nullopt;
    }
    if (controller != "cpuset") return made;
    // A new cpuset of version 1 has neither memory nodes nor CPUs.
    std::string nodes;
    std::getline(std::ifstream(hierarchy / "cpuset.mems"), nodes);
    if (separate && !write(made.folder() / "cpuset.mems", nodes)) return std::nullopt;
    return made;
  }
  ~TestingGroup() {
    // Processes that have ended leave the group a little later.
    if (!name_.empty()) std::ignore = eventually([this] { return rmdir(folder().c_str()) == 0; });
  }
  TestingGroup(TestingGroup&& other) noexcept
      : hierarchy_(std::move(other.hierarchy_)), name_(std::exchange(other.name_, {})) {}
  TestingGroup& operator=(TestingGroup&&) = delete;
  TestingGroup(const TestingGroup&) = delete;
  TestingGroup& operator=(const TestingGroup&) = delete;

  // In its hierarchy: "/NAME".
  [[nodiscard]] std::string path() const { return "/" + name_; }
  [[nodiscard]] bool allow(const machine::CpuSet& cpus) const {
    return write(folder() / "cpuset.cpus", cpus.to_string());
  }
  // With all its threads.
  [[nodiscard]] bool take_in(pid_t process) const {
    return write(folder() / "cgroup.procs", std::to_string(process));
  }
  // Moves the process to the root group.
  [[nodiscard]] bool let_out(pid_t process) const {
    return write(hierarchy_ / "cgroup.procs", std::to_string(process));
  }

 private:
  TestingGroup(std::filesystem::path hierarchy, std::string name)
      : hierarchy_(std::move(hierarchy)), name_(std::move(name)) {}

  static bool write(const std::filesystem::path& path, const std::string& text) {
    std::ofstream file(path);
    file << text << std::flush;
    return file.good();
  }
  [[nodiscard]] std::filesystem::path folder() const { return hierarchy_ / name_; }

  std::filesystem::path hierarchy_;
  std::string name_;  // empty: moved from
};

}  // namespace millrace::placement
