#include "millrace/machine/limits/open_cpus.h"

#include "millrace/base/file/system_file.h"
#include "millrace/base/text/take_word.h"
#include "millrace/machine/limits/cgroup_limits.h"

#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace millrace::machine {
namespace {

CpuSet cpus_online(const std::filesystem::path& root) {
  return CpuSet::parse(read_system_file(root / "sys/devices/system/cpu/online").value_or(""))
      .value_or(CpuSet());
}

CpuSet within_cpuset(CpuSet online, const std::optional<CpuSet>& cpuset) {
  return cpuset ? online & *cpuset : online;
}

}  // namespace

CpuSet open_cpus(pid_t process, const std::filesystem::path& root) {
  const auto groups = read_system_file(root / fmt::format("proc/{}/cgroup", process));
  if (!groups) return {};
  return within_cpuset(cpus_online(root), read_cpuset(*groups, root));
}

CpuSet open_cpus_of_group(const std::filesystem::path& folder) {
  return within_cpuset(cpus_online("/"), read_cpuset_of_group(folder));
}

CpuSet whole_mask(pid_t thread) {
  constexpr std::string_view field = "\nCpus_allowed_list:";
  const std::string status = read_system_file(fmt::format("/proc/{}/status", thread)).value_or("");
  const std::size_t found = status.find(field);
  if (found == std::string::npos) return {};
  std::string_view rest = std::string_view(status).substr(found + field.size());
  return CpuSet::parse(take_word(rest)).value_or(CpuSet());
}

const CpuSet& every_cpu() {
  constexpr int most_of_any_kernel = 8192;
  static const CpuSet all = CpuSet::range(0, most_of_any_kernel - 1);
  return all;
}

}  // namespace millrace::machine
