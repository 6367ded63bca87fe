// Reports the results of cluster simulations as text and JSON.
#pragma once

#include "millrace/model/cluster/simulate_cluster.h"

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace millrace::model {

// One outcome per size, in order.
[[nodiscard]] std::vector<ClusterOutcome> simulate_sizes(const ClusterCase& cluster, std::uint64_t seed);
[[nodiscard]] std::string to_text(const ClusterCase& cluster, const std::vector<ClusterOutcome>& outcomes);
[[nodiscard]] nlohmann::ordered_json to_json(const ClusterCase& cluster,
                                             const std::vector<ClusterOutcome>& outcomes);

}  // namespace millrace::model
