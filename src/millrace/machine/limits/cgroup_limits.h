// The limits of control groups on this process: CPU quota, cpuset and memory. Supports versions 1 and 2, and
// nested groups.
//
// Only the process's own groups and their mounted ancestors are visible. If a container's cgroup namespace
// hides its parents, their limits stay unknown.
#pragma once

#include "millrace/base/error/export.h"
#include "millrace/base/error/result.h"
#include "millrace/machine/cpus/cpu_set.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::machine {

struct CgroupLimits {
  // CPU time per wall time: 1.5 is one and a half CPUs. Positive. The minimum over the group and all its
  // ancestors; empty if no group sets a quota.
  std::optional<double> quota;
  std::string quota_from;  // the file that sets the quota; "" without a quota
  // The CPUs that the group's cpuset allows; empty without a cpuset controller.
  std::optional<CpuSet> cpuset;
  std::string cpuset_from;
  // Bytes of memory: the minimum over the group and all its ancestors. Empty if no group sets a limit.
  std::optional<std::uint64_t> memory;
  // One sentence for each file that exists but cannot be parsed. Such a file sets no limit.
  std::vector<std::string> doubts;
};

// Reads proc/self/cgroup, proc/self/mountinfo and the mounted hierarchies below `root` ("/" for this machine,
// or a folder of files for a test). Missing files mean no limits. Never fails.
[[nodiscard]] MILLRACE_EXPORT CgroupLimits read_cgroup_limits(const std::filesystem::path& root = "/");

// The CPUs that the cpuset of a process allows, given the content of /proc/PID/cgroup. Uses the process's
// group or the nearest ancestor with a cpuset. Empty without a cpuset controller.
[[nodiscard]] std::optional<CpuSet> read_cpuset(std::string_view proc_cgroup,
                                                const std::filesystem::path& root = "/");
// The same for a group, given its folder.
[[nodiscard]] std::optional<CpuSet> read_cpuset_of_group(std::filesystem::path folder);

// A process's group in one hierarchy: a line of /proc/self/cgroup.
struct CgroupMembership {
  std::vector<std::string> controllers;  // empty in version 2
  std::string path;                      // within the hierarchy, starts with '/'
};
// Skips lines that do not have the form number:controllers:/path.
[[nodiscard]] std::vector<CgroupMembership> parse_cgroup_memberships(std::string_view proc_self_cgroup);

// A mounted hierarchy: a line of /proc/self/mountinfo.
struct CgroupMount {
  int version = 2;
  std::vector<std::string> controllers;  // version 1 only
  std::string root;                      // the mounted part of the hierarchy
  std::string mount_point;
};
// Skips mounts of other file systems and malformed lines.
[[nodiscard]] std::vector<CgroupMount> parse_cgroup_mounts(std::string_view proc_self_mountinfo);

// Parses cpu.max of version 2: "max 100000" or "150000 100000"; the period is optional. Empty: no limit.
// Fails for anything else.
[[nodiscard]] Result<std::optional<double>> parse_cpu_max(std::string_view content);
// Parses cpu.cfs_quota_us and cpu.cfs_period_us of version 1; "-1" means no limit.
[[nodiscard]] Result<std::optional<double>> parse_cfs_quota(std::string_view quota_us,
                                                            std::string_view period_us);

// Parses memory.max, or memory.limit_in_bytes of version 1. A number near 2^63 means no limit.
[[nodiscard]] std::optional<std::uint64_t> parse_memory_limit(std::string_view content);

}  // namespace millrace::machine
