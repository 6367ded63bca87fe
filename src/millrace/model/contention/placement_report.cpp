#include "millrace/model/contention/placement_report.h"

#include "millrace/base/text/printable.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace millrace::model {
namespace {

// The distinct names of threads, in order of first appearance.
std::vector<std::string> names_of(const std::vector<ContendingThread>& threads) {
  std::vector<std::string> names;
  for (const ContendingThread& thread : threads)
    if (std::ranges::find(names, thread.name) == names.end()) names.push_back(thread.name);
  return names;
}

// Mean speed, and number of threads.
std::pair<double, int> speed_of(const std::string& name, const std::vector<ContendingThread>& threads,
                                const RuleOutcome& outcome) {
  double sum = 0;
  int count = 0;
  for (std::size_t i = 0; i < threads.size(); ++i)
    if (threads[i].name == name) {
      sum += outcome.speeds[i];
      ++count;
    }
  return {sum / count, count};
}

std::string threads_on(int pu, const PlacementCase& placed, const PuOfThread& placement) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < placement.size(); ++i)
    if (placement[i] == pu) names.push_back(printable(placed.threads[i].name));
  return names.empty() ? "-" : fmt::format("{}", fmt::join(names, " + "));
}

std::string picture(const PlacementCase& placed, const PuOfThread& placement) {
  std::string text;
  const auto line = [&](const std::string& group, const std::vector<int>& pus) {
    std::vector<std::string> cells;
    for (const int pu : pus)
      cells.push_back(fmt::format("PU {}: {}", pu, threads_on(pu, placed, placement)));
    text += fmt::format("  {:<12} {}\n", group, fmt::join(cells, "  |  "));
  };
  std::vector<bool> drawn(static_cast<std::size_t>(placed.machine.pus));
  if (!placed.machine.levels.empty()) {
    const SharingLevel& level = placed.machine.levels.front();
    for (std::size_t g = 0; g < level.groups.size(); ++g) {
      line(fmt::format("{} {}", printable(level.name), g), level.groups[g]);
      for (const int pu : level.groups[g])
        drawn[static_cast<std::size_t>(pu)] = true;
    }
  }
  for (int pu = 0; pu < placed.machine.pus; ++pu)
    if (!drawn[static_cast<std::size_t>(pu)]) line("", {pu});
  return text;
}

}  // namespace

std::string to_text(const PlacementCase& placed, const std::vector<RuleOutcome>& outcomes) {
  std::string text = fmt::format("{} threads on {} PUs; speeds of threads, of their speeds alone\n\n",
                                 placed.threads.size(), placed.machine.pus);
  text += fmt::format("{:<12} {:>8} {:>10} {:>8} {:>9} {:>11} {:>9}\n", "rule", "mean", "+-", "least",
                      "fairness", "cache loss", "to none");
  const auto kernel = std::ranges::find(outcomes, "none", &RuleOutcome::rule);
  for (const RuleOutcome& outcome : outcomes)
    text += fmt::format("{:<12} {:>8.3f} {:>10} {:>8.3f} {:>9.2f} {:>10.1f}% {:>8.2f}x\n", outcome.rule,
                        outcome.mean_speed, outcome.placement ? "" : fmt::format("{:.3f}", outcome.deviation),
                        outcome.least_speed, outcome.fairness, 100 * outcome.cache_loss,
                        outcome.mean_speed / kernel->mean_speed);
  text += fmt::format("\n{:<20} {:>7}", "threads", "number");
  for (const RuleOutcome& outcome : outcomes)
    text += fmt::format(" {:>12}", outcome.rule);
  text += '\n';
  for (const std::string& name : names_of(placed.threads)) {
    text +=
        fmt::format("{:<20} {:>7}", printable(name), speed_of(name, placed.threads, outcomes.front()).second);
    for (const RuleOutcome& outcome : outcomes)
      text += fmt::format(" {:>12.3f}", speed_of(name, placed.threads, outcome).first);
    text += '\n';
  }
  if (const auto units = std::ranges::find(outcomes, "units", &RuleOutcome::rule); units != outcomes.end())
    text += fmt::format("\nby units:\n{}", picture(placed, *units->placement));
  return text;
}

nlohmann::json to_json(const PlacementCase& placed, const std::vector<RuleOutcome>& outcomes) {
  nlohmann::json rules = nlohmann::json::array();
  for (const RuleOutcome& outcome : outcomes) {
    rules.push_back({{"rule", outcome.rule},
                     {"mean_speed", outcome.mean_speed},
                     {"deviation", outcome.deviation},
                     {"least_speed", outcome.least_speed},
                     {"geometric_mean_speed", outcome.geometric_mean_speed},
                     {"fairness", outcome.fairness},
                     {"cache_loss", outcome.cache_loss},
                     {"speeds", outcome.speeds}});
    if (outcome.placement) rules.back()["placement"] = *outcome.placement;
  }
  nlohmann::json names = nlohmann::json::array();
  for (const ContendingThread& thread : placed.threads)
    names.push_back(thread.name);
  return {{"schema", "millrace.placement-simulation"},
          {"version", 2},
          {"pus", placed.machine.pus},
          {"threads", std::move(names)},
          {"rules", std::move(rules)}};
}

}  // namespace millrace::model
