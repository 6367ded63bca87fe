#include "millrace/model/contention/shared_machine.h"

#include "millrace/base/text/in_quotes.h"

namespace millrace::model {

ContentionMatrix::ContentionMatrix() {
  for (const SharedUnit unit : all_shared_units)
    for (const SharedUnit beside : all_shared_units)
      slowdowns_[unit][beside] = 1;
}

Status ContentionMatrix::set(SharedUnit of, SharedUnit beside, double slowdown) {
  constexpr double most = 1000;
  if (!(slowdown >= 1 && slowdown <= most))
    return usage_error("{} beside {} takes {} times as long; give 1 (nothing is shared) to {}", name_of(of),
                       name_of(beside), slowdown, most);
  slowdowns_[of][beside] = slowdown;
  return {};
}

std::vector<std::vector<int>> groups_of_neighbours(int pus, int each) {
  std::vector<std::vector<int>> groups;
  for (int pu = 0; pu < pus; ++pu) {
    if (pu % each == 0) groups.emplace_back();
    groups.back().push_back(pu);
  }
  return groups;
}

namespace {

Status check_groups(const SharedMachine& machine, const std::vector<std::vector<int>>& groups,
                    std::string_view of) {
  std::vector<bool> seen(static_cast<std::size_t>(machine.pus));
  for (const auto& group : groups)
    for (const int pu : group) {
      if (pu < 0 || pu >= machine.pus)
        return usage_error("{} groups PU {}, but the machine has 0 to {}", of, pu, machine.pus - 1);
      if (seen[static_cast<std::size_t>(pu)]) return usage_error("PU {} is in two groups of {}", pu, of);
      seen[static_cast<std::size_t>(pu)] = true;
    }
  return {};
}

}  // namespace

Status check(const SharedMachine& machine) {
  constexpr int most = 1024;
  constexpr double most_ratio = 1000;
  if (machine.pus < 1 || machine.pus > most)
    return usage_error("a machine of {} PUs; give 1 to {}", machine.pus, most);
  for (const SharingLevel& level : machine.levels)
    if (Status possible = check_groups(machine, level.groups, "level " + in_quotes(level.name)); !possible)
      return possible;
  if (Status possible = check_groups(machine, machine.nodes, "nodes"); !possible) return possible;
  if (Status possible = check_groups(machine, machine.caches, "caches"); !possible) return possible;
  for (const double ratio : {machine.remote_memory, machine.far_handover})
    if (!(ratio >= 1 && ratio <= most_ratio))
      return usage_error("{} times as far; give 1 (as near) to {}", ratio, most_ratio);
  return {};
}

}  // namespace millrace::model
