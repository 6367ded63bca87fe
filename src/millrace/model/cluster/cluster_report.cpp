#include "millrace/model/cluster/cluster_report.h"

#include "millrace/base/text/printable.h"
#include "millrace/model/pipeline/duration_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace::model {

std::vector<ClusterOutcome> simulate_sizes(const ClusterCase& cluster, std::uint64_t seed) {
  std::vector<ClusterOutcome> outcomes;
  if (cluster.sizes.empty()) outcomes.push_back(simulate_cluster(cluster.job, cluster.machines, seed));
  for (const int size : cluster.sizes)
    outcomes.push_back(simulate_cluster(cluster.job, scaled(cluster.machines, size), seed));
  return outcomes;
}

std::string to_text(const ClusterCase& cluster, const std::vector<ClusterOutcome>& outcomes) {
  std::string text = fmt::format("{} chunks of {} each at speed 1; machines:", cluster.job.chunks,
                                 seconds_text(cluster.job.work));
  for (const ClusterMachines& kind : cluster.machines)
    text += fmt::format("{} {} {} of speed {:g}", &kind == cluster.machines.data() ? "" : ",", kind.count,
                        printable(kind.name), kind.speed);
  text +=
      fmt::format("\n\n{:>8} {:>12} {:>12} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6} {:>7}\n", "machines", "time",
                  "of capacity", "starting", "transfer", "learning", "repeated", "idle", "taken", "copies");
  const auto percent = [](double share) { return fmt::format("{:.1f} %", 100 * share); };
  for (const ClusterOutcome& o : outcomes)
    text += fmt::format("{:>8} {:>12} {:>12} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6} {:>7}\n", o.machines,
                        seconds_text(o.seconds), percent(o.efficiency), percent(o.starting),
                        percent(o.transferring), percent(o.learning), percent(o.repeated), percent(o.idle),
                        o.taken, o.copies);
  return text;
}

nlohmann::ordered_json to_json(const ClusterCase& cluster, const std::vector<ClusterOutcome>& outcomes) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ClusterOutcome& o : outcomes)
    list.push_back({{"machines", o.machines},
                    {"seconds", o.seconds},
                    {"capacity", o.capacity},
                    {"efficiency", o.efficiency},
                    {"starting", o.starting},
                    {"transferring", o.transferring},
                    {"learning", o.learning},
                    {"repeated", o.repeated},
                    {"idle", o.idle},
                    {"taken", o.taken},
                    {"copies", o.copies}});
  return {{"schema", "millrace.cluster_simulation"},
          {"version", 1},
          {"chunks", cluster.job.chunks},
          {"outcomes", std::move(list)}};
}

}  // namespace millrace::model
