#include "millrace/machine/limits/usable_cpus.h"

#include "millrace/machine/thread/thread_affinity.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace millrace::machine {

UsableCpus usable_cpus_from(const CpuSet& online, const CpuSet& affinity, const CgroupLimits& limits) {
  UsableCpus usable;
  usable.cpus = affinity;
  usable.quota = limits.quota;
  if (!affinity.contains_all(online))
    usable.reasons.push_back(
        fmt::format("the affinity mask leaves CPU {} of {}", affinity.to_string(), online.to_string()));
  if (limits.cpuset && limits.cpuset->intersects(affinity)) {
    usable.cpus &= *limits.cpuset;
    if (!limits.cpuset->contains_all(online))
      usable.reasons.push_back(
          fmt::format("the cpuset allows CPU {} ({})", limits.cpuset->to_string(), limits.cpuset_from));
  }
  const int places = std::max(1, usable.cpus.count());
  usable.worker_limit = usable.most_workers = places;
  if (limits.quota) {
    // Compare as doubles, because a quota may exceed the range of int.
    const auto within = [places](double quota) {
      return quota < places ? std::max(1, static_cast<int>(quota)) : places;
    };
    usable.worker_limit = within(std::floor(*limits.quota));
    usable.most_workers = within(std::ceil(*limits.quota));
    usable.reasons.push_back(
        fmt::format("the cgroup quota is {:.4g} CPUs ({})", *limits.quota, limits.quota_from));
  }
  return usable;
}

Result<UsableCpus> usable_cpus(const CpuSet& online) {
  const auto affinity = current_thread_affinity();
  if (!affinity) return std::unexpected(affinity.error());
  return usable_cpus_from(online, *affinity, read_cgroup_limits());
}

}  // namespace millrace::machine
