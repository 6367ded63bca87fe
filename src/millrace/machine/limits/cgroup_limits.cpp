#include "millrace/machine/limits/cgroup_limits.h"

#include "millrace/base/file/system_file.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace millrace::machine {
namespace {

namespace fs = std::filesystem;

bool has(const std::vector<std::string>& controllers, std::string_view controller) {
  return std::ranges::find(controllers, controller) != controllers.end();
}

// Resolves the absolute `path` below `root`.
fs::path below(const fs::path& root, const fs::path& path) { return root / path.relative_path(); }

// The folders of a group and its ancestors up to the mount point, the group first. If the group is outside
// the mounted part (a container that sees the host's path), only the mount point remains; it is then the
// container's own group.
std::vector<fs::path> folders_of(const CgroupMembership& membership, const CgroupMount& mount) {
  const fs::path mount_point = mount.mount_point;
  const fs::path within = fs::path(membership.path).lexically_normal().lexically_relative(mount.root);
  std::vector<fs::path> folders{mount_point};
  if (within.empty() || *within.begin() == "..") return folders;
  fs::path folder = mount_point;
  for (const fs::path& name : within) {
    if (name == "." || name.empty()) continue;
    folder /= name;
    folders.push_back(folder);
  }
  std::ranges::reverse(folders);
  return folders;
}

// The folders of this process's group in the hierarchy of `controller`. Version 2 has one hierarchy for all
// controllers; pass "".
std::vector<fs::path> find_folders(const std::vector<CgroupMembership>& memberships,
                                   const std::vector<CgroupMount>& mounts, std::string_view controller) {
  const auto membership = std::ranges::find_if(memberships, [&](const CgroupMembership& one) {
    return controller.empty() ? one.controllers.empty() : has(one.controllers, controller);
  });
  const auto mount = std::ranges::find_if(mounts, [&](const CgroupMount& one) {
    return controller.empty() ? one.version == 2 : one.version == 1 && has(one.controllers, controller);
  });
  if (membership == memberships.end() || mount == mounts.end()) return {};
  return folders_of(*membership, *mount);
}

class LimitReader {
 public:
  LimitReader(fs::path root, CgroupLimits& limits) : root_(std::move(root)), limits_(limits) {}

  void read_quota_v2(const fs::path& folder) {
    const fs::path file = folder / "cpu.max";
    if (const auto content = read(file)) take_quota(file, parse_cpu_max(*content));
  }

  void read_quota_v1(const fs::path& folder) {
    const fs::path file = folder / "cpu.cfs_quota_us";
    if (const auto quota = read(file))
      take_quota(file, parse_cfs_quota(*quota, read(folder / "cpu.cfs_period_us").value_or("")));
  }

  void read_memory(const fs::path& file) {
    const auto bytes = parse_memory_limit(read(file).value_or(""));
    if (bytes) limits_.memory = std::min(*bytes, limits_.memory.value_or(*bytes));
  }

  // An effective cpuset already reflects the ancestors, so the nearest one suffices.
  void read_nearest_cpuset(const std::vector<CgroupMembership>& memberships,
                           const std::vector<CgroupMount>& mounts) {
    for (const std::string_view controller : {"cpuset", ""})
      for (const fs::path& folder : find_folders(memberships, mounts, controller))
        if (read_cpuset(folder)) return;
  }

  // True if `folder` has a cpuset. An empty one is inherited from the parent (version 2), so it returns
  // false.
  bool read_cpuset(const fs::path& folder) {
    // The effective set is the configured set minus CPUs removed by parents or hot-plugging.
    static constexpr std::array names{"cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"};
    for (const char* name : names) {
      const fs::path file = folder / name;
      const auto content = read(file);
      if (!content) continue;
      auto cpus = CpuSet::parse(*content);
      if (!cpus) doubt(file, cpus.error());
      if (!cpus || cpus->empty()) continue;
      limits_.cpuset = std::move(*cpus);
      limits_.cpuset_from = file.string();
      return true;
    }
    return false;
  }

 private:
  [[nodiscard]] std::optional<std::string> read(const fs::path& file) const {
    return read_system_file(below(root_, file));
  }

  void take_quota(const fs::path& file, const Result<std::optional<double>>& quota) {
    if (!quota) return doubt(file, quota.error());
    if (!*quota || (limits_.quota && *limits_.quota <= **quota)) return;
    limits_.quota = *quota;
    limits_.quota_from = file.string();
  }

  void doubt(const fs::path& file, const Error& error) {
    limits_.doubts.push_back(fmt::format("{} is taken to set no limit: {}", file.string(), error.message));
  }

  fs::path root_;
  CgroupLimits& limits_;
};

}  // namespace

CgroupLimits read_cgroup_limits(const fs::path& root) {
  const auto memberships = parse_cgroup_memberships(read_system_file(root / "proc/self/cgroup").value_or(""));
  const auto mounts = parse_cgroup_mounts(read_system_file(root / "proc/self/mountinfo").value_or(""));
  const auto unified = find_folders(memberships, mounts, "");

  CgroupLimits limits;
  LimitReader reader(root, limits);
  // Both versions may be mounted at once. Each controller belongs to one of them, so the other has no such
  // file.
  for (const fs::path& folder : unified) {
    reader.read_quota_v2(folder);
    reader.read_memory(folder / "memory.max");
  }
  for (const fs::path& folder : find_folders(memberships, mounts, "memory"))
    reader.read_memory(folder / "memory.limit_in_bytes");
  for (const fs::path& folder : find_folders(memberships, mounts, "cpu"))
    reader.read_quota_v1(folder);
  reader.read_nearest_cpuset(memberships, mounts);
  return limits;
}

std::optional<CpuSet> read_cpuset(std::string_view proc_cgroup, const fs::path& root) {
  const auto read_mounts = [&root] {
    return parse_cgroup_mounts(read_system_file(root / "proc/self/mountinfo").value_or(""));
  };
  CgroupLimits limits;
  LimitReader reader(root, limits);
  const auto memberships = parse_cgroup_memberships(proc_cgroup);
  if (root != "/") {
    reader.read_nearest_cpuset(memberships, read_mounts());
    return limits.cpuset;
  }
  // With hundreds of other mounts, reading them each time would dominate the cost.
  static const std::vector<CgroupMount> mounts = read_mounts();  // hierarchies stay mounted
  reader.read_nearest_cpuset(memberships, mounts);
  return limits.cpuset;
}

std::optional<CpuSet> read_cpuset_of_group(fs::path folder) {
  CgroupLimits limits;
  LimitReader reader("/", limits);
  // Ends at the mount point: there are no cpuset files above it.
  for (; folder.has_relative_path(); folder = folder.parent_path())
    if (reader.read_cpuset(folder)) break;
  return limits.cpuset;
}

}  // namespace millrace::machine
