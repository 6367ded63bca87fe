#include "millrace/model/cluster/cluster_case.h"

#include "millrace/base/text/in_quotes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace millrace::model {

Status check(const ClusterCase& cluster) {
  const ClusterJob& job = cluster.job;
  if (job.chunks < 1 || job.chunks > most_chunks)
    return usage_error("{} chunks; simulate 1 to {}", job.chunks, most_chunks);
  if (!(job.work > 0)) return usage_error("a chunk takes more than 0 seconds of work");
  if (!(job.variation >= 0 && job.variation <= 3)) return usage_error("a variation is from 0 to 3");
  if (cluster.machines.empty()) return usage_error("no machine is given; write [[machine]] before each kind");
  int count = 0;
  for (const ClusterMachines& kind : cluster.machines) {
    if (!(kind.speed > 0)) return usage_error("machine {}: a speed is more than 0", in_quotes(kind.name));
    if (kind.taken_every > 0 && kind.taken_every * kind.speed * 100 < job.work)
      return usage_error("machine {}: is taken away so often that no chunk is ever done",
                         in_quotes(kind.name));
    count += kind.count;
  }
  if (count < 1 || count > most_machines)
    return usage_error("{} machines; simulate 1 to {}", count, most_machines);
  for (const int size : cluster.sizes)
    if (size < 1 || size > most_machines)
      return usage_error("{} machines; simulate 1 to {}", size, most_machines);
  return {};
}

std::vector<ClusterMachines> scaled(const std::vector<ClusterMachines>& machines, int count) {
  const int all = std::transform_reduce(machines.begin(), machines.end(), 0, std::plus(),
                                        [](const ClusterMachines& kind) { return kind.count; });
  std::vector<ClusterMachines> result = machines;
  std::vector<double> remainders;
  int given = 0;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const double share = static_cast<double>(machines[i].count) * count / all;
    result[i].count = static_cast<int>(share);
    remainders.push_back(share - std::floor(share));
    given += result[i].count;
  }
  for (; given < count; ++given) {
    const auto largest = std::ranges::max_element(remainders) - remainders.begin();
    ++result[static_cast<std::size_t>(largest)].count;
    remainders[static_cast<std::size_t>(largest)] = -1;
  }
  return result;
}

}  // namespace millrace::model
