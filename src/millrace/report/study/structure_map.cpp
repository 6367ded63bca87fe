#include "millrace/report/study/structure_map.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::report {
namespace {

std::optional<MapEntry> entry_at(const StudyResult& study, image::Size size, int stages, int threads) {
  std::vector<std::pair<double, const CaseTimes*>> by_time;
  const CaseTimes* sequential = nullptr;
  for (const image::Structure structure : map_structures()) {
    const CaseTimes* const times = study.find(map_case(study.machine, size, stages, structure, threads));
    if (times == nullptr || times->ms.empty()) continue;
    by_time.emplace_back(mean_interval(times->ms).mean, times);
    if (structure == image::Structure::sequential) sequential = times;
  }
  if (by_time.size() < 2 || sequential == nullptr) return std::nullopt;
  std::ranges::sort(by_time);
  const CaseTimes& best = *by_time[0].second;
  MapEntry entry{.best = best.which.schedule.structure,
                 .second = ratio_interval(by_time[1].second->ms, best.ms),
                 .sequential = ratio_interval(sequential->ms, best.ms),
                 .best_ms = by_time[0].first};
  entry.tied = entry.second.low <= 1;
  return entry;
}

}  // namespace

StructureMap structure_map(const StudyResult& study, int threads) {
  StructureMap map{.threads = threads, .axes = map_axes(study.machine, study.quick), .entries = {}};
  for (const int stages : map.axes.stages) {
    auto& row = map.entries.emplace_back();
    for (const image::Size size : map.axes.sizes)
      row.push_back(entry_at(study, size, stages, threads));
  }
  return map;
}

std::vector<std::string> crossings(const StructureMap& map) {
  std::vector<std::string> lines;
  for (std::size_t s = 0; s < map.axes.sizes.size(); ++s) {
    struct Stretch {
      image::Structure best;
      int from;
      int to;
    };
    std::vector<Stretch> stretches;
    for (std::size_t r = 0; r < map.axes.stages.size(); ++r) {
      const auto& entry = map.entries[r][s];
      if (!entry) continue;
      const int operations = operations_per_stage * map.axes.stages[r];
      if (stretches.empty() || stretches.back().best != entry->best)
        stretches.push_back({entry->best, operations, operations});
      stretches.back().to = operations;
    }
    if (stretches.empty()) continue;
    std::vector<std::string> words;
    for (std::size_t i = 0; i < stretches.size(); ++i) {
      const auto& [best, from, to] = stretches[i];
      const std::string_view name = image::name_of(best);
      if (stretches.size() == 1)
        words.push_back(fmt::format("{} throughout", name));
      else if (i == 0)
        words.push_back(fmt::format("{} up to {} operations a pixel", name, to));
      else if (i + 1 == stretches.size())
        words.push_back(fmt::format("{} from {} on", name, from));
      else
        words.push_back(from == to ? fmt::format("{} at {}", name, from)
                                   : fmt::format("{} from {} to {}", name, from, to));
    }
    lines.push_back(
        fmt::format("{}x{}: {}", map.axes.sizes[s].width, map.axes.sizes[s].height, fmt::join(words, ", ")));
  }
  return lines;
}

}  // namespace millrace::report
