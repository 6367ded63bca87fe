// The limits that control groups put on this process: CPU quota, cpuset and memory, version 1 and 2, nested.
//
// Only the calling process's own groups and those of their ancestors that are mounted are seen; a container
// whose cgroup namespace hides its parents cannot know their limits.
#pragma once

#include "millrace/base/export.h"
#include "millrace/base/result.h"
#include "millrace/machine/cpus/cpu_set.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::machine {

struct CgroupLimits {
  // CPU time per time, in CPUs: 1.5 is one and a half CPUs' worth. Positive; the least of the group's and all
  // its ancestors' quotas. None when no group limits it.
  std::optional<double> quota;
  std::string quota_from;  // the file that says so; "" without a quota
  // The CPUs that the group's cpuset allows; none when there is no cpuset controller.
  std::optional<CpuSet> cpuset;
  std::string cpuset_from;
  // Bytes of memory; the least of the group's and all its ancestors'. None when no group limits it.
  std::optional<std::uint64_t> memory;
  // One sentence for each file that exists but could not be understood; such a file limits nothing.
  std::vector<std::string> doubts;
};

// Reads proc/self/cgroup, proc/self/mountinfo and the mounted hierarchies below `root` ("/" for this machine,
// a folder of files for a test). Missing files mean no limits; never fails.
[[nodiscard]] MILLRACE_EXPORT CgroupLimits read_cgroup_limits(const std::filesystem::path& root = "/");

// The CPUs that the cpuset of a process allows whose groups `proc_cgroup` names (/proc/PID/cgroup): of its
// own group, or of the nearest ancestor that has one. None when there is no cpuset controller.
[[nodiscard]] std::optional<CpuSet> read_cpuset(std::string_view proc_cgroup,
                                                const std::filesystem::path& root = "/");
// Of a group, by its folder.
[[nodiscard]] std::optional<CpuSet> read_cpuset_of_group(std::filesystem::path folder);

// The group of this process in one hierarchy: a line of /proc/self/cgroup.
struct CgroupMembership {
  std::vector<std::string> controllers;  // empty in version 2
  std::string path;                      // within the hierarchy, starts with '/'
};
// Lines that do not have the form number:controllers:/path are passed over.
[[nodiscard]] std::vector<CgroupMembership> parse_cgroup_memberships(std::string_view proc_self_cgroup);

// A mounted hierarchy: a line of /proc/self/mountinfo.
struct CgroupMount {
  int version = 2;
  std::vector<std::string> controllers;  // version 1 only
  std::string root;                      // which part of the hierarchy is mounted
  std::string mount_point;
};
// Mounts of other file systems and malformed lines are passed over.
[[nodiscard]] std::vector<CgroupMount> parse_cgroup_mounts(std::string_view proc_self_mountinfo);

// Version 2's cpu.max: "max 100000", "150000 100000" (the period may be left out). None: no limit. Failure
// when it is neither.
[[nodiscard]] Result<std::optional<double>> parse_cpu_max(std::string_view content);
// Version 1's cpu.cfs_quota_us and cpu.cfs_period_us: "-1" is no limit.
[[nodiscard]] Result<std::optional<double>> parse_cfs_quota(std::string_view quota_us,
                                                            std::string_view period_us);

// memory.max, or memory.limit_in_bytes of version 1, where a number near 2^63 is no limit.
[[nodiscard]] std::optional<std::uint64_t> parse_memory_limit(std::string_view content);

}  // namespace millrace::machine
