#include "millrace/report/study/structure_map.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::report {
namespace {

std::optional<MapEntry> entry_at(const StudyResult& study, image::Size size, int stages, int threads) {
  std::vector<const CaseTimes*> measured;
  const CaseTimes* sequential = nullptr;
  for (const image::Structure structure : map_structures()) {
    const CaseTimes* const times = study.find(map_case(study.machine, size, stages, structure, threads));
    if (times == nullptr || times->ms.empty()) continue;
    measured.push_back(times);
    if (structure == image::Structure::sequential) sequential = times;
  }
  if (measured.size() < 2 || sequential == nullptr) return std::nullopt;
  std::ranges::stable_sort(
      measured, {}, [&](const CaseTimes* times) { return ratio_interval(times->ms, sequential->ms).mean; });
  const CaseTimes& best = *measured.front();
  MapEntry entry{.best = best.which.schedule.structure,
                 .as_good = {},
                 .second = ratio_interval(measured[1]->ms, best.ms),
                 .sequential = ratio_interval(sequential->ms, best.ms),
                 .best_ms = mean_interval(best.ms).mean};
  for (const CaseTimes* times : measured) {
    if (times == &best || ratio_interval(times->ms, best.ms).low <= 1)
      entry.as_good.push_back(times->which.schedule.structure);
  }
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
      std::vector<image::Structure> best;  // throughout
      int from;
      int to;
    };
    std::vector<Stretch> stretches;
    for (std::size_t r = 0; r < map.axes.stages.size(); ++r) {
      const auto& entry = map.entries[r][s];
      if (!entry) continue;
      const int operations = operations_per_stage * map.axes.stages[r];
      std::vector<image::Structure> still;
      if (!stretches.empty()) {
        std::ranges::copy_if(stretches.back().best, std::back_inserter(still),
                             [&](image::Structure structure) {
                               return std::ranges::find(entry->as_good, structure) != entry->as_good.end();
                             });
      }
      if (still.empty())
        stretches.push_back({entry->as_good, operations, operations});
      else
        stretches.back() = {std::move(still), stretches.back().from, operations};
    }
    if (stretches.empty()) continue;
    std::vector<std::string> words;
    for (std::size_t i = 0; i < stretches.size(); ++i) {
      const auto& [best, from, to] = stretches[i];
      std::vector<std::string_view> names;
      for (const image::Structure structure : best)
        names.push_back(image::name_of(structure));
      const std::string name = fmt::format("{}", fmt::join(names, " or "));
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
