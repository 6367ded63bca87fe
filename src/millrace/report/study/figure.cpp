#include "millrace/report/study/figure.h"

#include "millrace/base/text/in_quotes.h"
#include "millrace/image/pipeline/presets.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>

#include <fmt/format.h>

namespace millrace::report {
namespace {

using image::Structure;
using machine::AffinityArrangement;

constexpr std::array figures{Figure::fig2, Figure::fig3, Figure::fig4, Figure::fig5,
                             Figure::fig6, Figure::fig7, Figure::map};
constexpr std::array<std::string_view, figures.size()> names{"fig2", "fig3", "fig4", "fig5",
                                                             "fig6", "fig7", "map"};
constexpr std::array structures_of_map{Structure::sequential, Structure::backward, Structure::backward_cached,
                                       Structure::tiled, Structure::sliding};

// Granules of the cached structure: small relative to a frame of the smaller clip, large relative to the
// overhead of a kernel call. The paper uses one pixel.
constexpr image::Size granule{64, 16};

// The cases of one figure, each once.
class Cases {
 public:
  explicit Cases(const StudyMachine& machine) : machine_(machine) {}

  void add(StudyCase added) {
    if (std::ranges::find(cases_, added) == cases_.end()) cases_.push_back(std::move(added));
  }
  void add(std::string_view pipeline, std::string_view input, Structure structure, int threads,
           AffinityArrangement affinity = AffinityArrangement::free) {
    for (const Team team : {Team::anew, Team::pool})
      add({std::string(pipeline), std::string(input),
           paper_schedule(machine_, structure, threads, team, affinity)});
  }
  [[nodiscard]] std::vector<StudyCase> take() { return std::move(cases_); }

 private:
  const StudyMachine& machine_;
  std::vector<StudyCase> cases_;
};

void add_scaling(Cases& cases, const StudyMachine& machine, std::string_view input) {
  for (const int threads : thread_counts(machine)) {
    for (const Structure structure : {Structure::sequential, Structure::backward})
      cases.add("@B", input, structure, threads);
  }
}

void add_performance(Cases& cases, const StudyMachine& machine) {
  for (const image::Preset& preset : image::presets()) {
    for (const int threads : {1, machine.threads}) {
      for (const Structure structure : {Structure::sequential, Structure::backward})
        cases.add(preset.name, foreman, structure, threads);
    }
  }
}

void add_storing(Cases& cases, const StudyMachine& machine) {
  for (const std::string_view pipeline : {"@D", "@G"}) {
    for (const int threads : thread_counts(machine)) {
      for (const Structure structure :
           {Structure::sequential, Structure::backward, Structure::backward_store})
        cases.add(pipeline, foreman, structure, threads);
    }
  }
}

void add_cached(Cases& cases, const StudyMachine& machine) {
  for (const image::Preset& preset : image::presets()) {
    cases.add(preset.name, foreman, Structure::sequential, 1);
    for (const Structure structure : {Structure::sequential, Structure::backward, Structure::backward_cached})
      cases.add(preset.name, foreman, structure, threads_of_fig6(machine));
  }
}

void add_affinity(Cases& cases, const StudyMachine& machine) {
  for (const AffinityArrangement affinity : affinities_of_fig7(machine)) {
    for (const int threads : thread_counts(machine))
      cases.add("@B", foreman, Structure::sequential, threads, affinity);
  }
}

void add_map(Cases& cases, const StudyMachine& machine, bool quick) {
  const MapAxes axes = map_axes(machine, quick);
  for (const image::Size size : axes.sizes) {
    for (const int stages : axes.stages) {
      for (const int threads : axes.threads) {
        for (const Structure structure : structures_of_map)
          cases.add(map_case(machine, size, stages, structure, threads));
      }
    }
  }
}

}  // namespace

std::string_view name_of(Figure figure) {
  return names[static_cast<std::size_t>(std::ranges::find(figures, figure) - figures.begin())];
}

std::string_view title_of(Figure figure) {
  switch (figure) {
  case Figure::fig2:
    return "Figure 2: scaling of pipeline B on the large clip";
  case Figure::fig3:
    return "Figure 3: scaling of pipeline B on the small clip";
  case Figure::fig4:
    return "Figure 4: sequential and BD on pipelines A to G";
  case Figure::fig5:
    return "Figure 5: BD that also stores what it does not read again";
  case Figure::fig6:
    return "Figure 6: BD with a buffer cache";
  case Figure::fig7:
    return "Figure 7: where the threads run";
  case Figure::map:
    break;
  }
  return "A map of the structures";
}

std::span<const Figure> all_figures() { return figures; }

Result<std::vector<Figure>> parse_figures(std::span<const std::string> words) {
  std::set<Figure> wanted;
  for (const std::string& word : words) {
    if (word == "all") {
      wanted.insert(figures.begin(), figures.end());
      continue;
    }
    const auto* const name = std::ranges::find(names, word);
    if (name == names.end())
      return usage_error("there is no study {}; see: millrace study list", in_quotes(word));
    wanted.insert(figures[static_cast<std::size_t>(name - names.begin())]);
  }
  return std::vector<Figure>(wanted.begin(), wanted.end());
}

std::string_view paper_name(Structure structure) {
  switch (structure) {
  case Structure::backward:
    return "BD";
  case Structure::backward_store:
    return "BD-STORE";
  case Structure::backward_cached:
    return "BD-CACHED";
  case Structure::sequential:
  case Structure::tiled:
  case Structure::sliding:
    break;
  }
  return image::name_of(structure);
}

Result<std::map<std::string_view, std::size_t>> places_of(std::span<const image::Size> sizes) {
  const auto area = [&](std::size_t i) { return std::int64_t{sizes[i].width} * sizes[i].height; };
  switch (sizes.size()) {
  case 0:
    return std::map<std::string_view, std::size_t>{};
  case 1: {
    // The square of the geometric mean of the two clips' areas.
    constexpr std::int64_t middle = std::int64_t{352} * 288 * 1920 * 1080;
    return std::map<std::string_view, std::size_t>{{area(0) * area(0) <= middle ? foreman : tractor, 0}};
  }
  case 2: {
    const std::size_t smaller = area(1) < area(0) ? 1 : 0;
    return std::map<std::string_view, std::size_t>{{foreman, smaller}, {tractor, 1 - smaller}};
  }
  default:
    return usage_error("{} clips are given; there is room for two, a small and a large one", sizes.size());
  }
}

StudyMachine study_machine(const machine::MachineReport& report) {
  StudyMachine machine{.threads = report.usable.worker_limit, .isa = report.isa};
  const machine::Topology& topology = report.topology;
  int cores = 0;
  for (const machine::CpuSet& core : topology.cores()) {
    if (!(core & report.usable.cpus).empty()) ++cores;
  }
  machine.cores = std::clamp(cores, 1, machine.threads);
  machine.modules = std::ranges::any_of(topology.fpu_groups(), [&](const machine::CpuSet& group) {
    return group != topology.core_of(group.lowest());
  });
  return machine;
}

image::Schedule paper_schedule(const StudyMachine& machine, Structure structure, int threads, Team team,
                               AffinityArrangement affinity) {
  image::Schedule schedule{.structure = structure,
                           .fusion = image::Fusion::none,
                           .threads = threads,
                           .affinity = affinity,
                           .isa = machine.isa,
                           .fresh_threads = team == Team::anew && threads > 1};
  if (structure == Structure::backward_cached) schedule.tile = granule;
  return schedule;
}

std::vector<int> thread_counts(const StudyMachine& machine) {
  std::set<int> counts{machine.threads, machine.cores};
  for (int count = 1; count <= machine.threads; count += std::max(1, count / 4))
    counts.insert(count);
  return {counts.begin(), counts.end()};
}

int threads_of_fig6(const StudyMachine& machine) { return std::min(4, machine.threads); }

std::vector<AffinityArrangement> affinities_of_fig7(const StudyMachine& machine) {
  std::vector<AffinityArrangement> affinities{AffinityArrangement::io_same, AffinityArrangement::io_diff};
  if (machine.modules) affinities.push_back(AffinityArrangement::module_diff);
  affinities.push_back(AffinityArrangement::pinned);
  return affinities;
}

MapAxes map_axes(const StudyMachine& machine, bool quick) {
  MapAxes axes{.sizes = {{64, 48}, {176, 144}, {352, 288}, {704, 576}, {1280, 720}, {1920, 1080}},
               .stages = {1, 2, 4, 8, 14},
               .threads = {1}};
  if (quick) axes = {.sizes = {{48, 32}, {96, 64}}, .stages = {1, 2}, .threads = {1}};
  if (machine.threads > 1) axes.threads.push_back(machine.threads);
  return axes;
}

std::span<const Structure> map_structures() { return structures_of_map; }

StudyCase map_case(const StudyMachine& machine, image::Size size, int stages, Structure structure,
                   int threads) {
  std::string pipeline;
  // Steps of different heights, so that none can be optimised away.
  for (int stage = 0; stage < stages; ++stage)
    pipeline += fmt::format("discretise({}) | ", 255 - 7 * stage);
  image::Schedule schedule{.structure = structure,
                           .fusion = image::Fusion::pointwise,
                           .tile = {256, 64},
                           .threads = threads,
                           .isa = machine.isa};
  if (structure == Structure::backward_cached) schedule.tile = granule;
  if (structure == Structure::sliding) schedule.tile = {0, 16};
  return {pipeline + "blur", fmt::format("test:{}x{}@8,gray", size.width, size.height), schedule};
}

std::vector<StudyCase> cases_of(Figure figure, const StudyMachine& machine, bool quick) {
  Cases cases(machine);
  switch (figure) {
  case Figure::fig2:
    add_scaling(cases, machine, tractor);
    break;
  case Figure::fig3:
    add_scaling(cases, machine, foreman);
    break;
  case Figure::fig4:
    add_performance(cases, machine);
    break;
  case Figure::fig5:
    add_storing(cases, machine);
    break;
  case Figure::fig6:
    add_cached(cases, machine);
    break;
  case Figure::fig7:
    add_affinity(cases, machine);
    break;
  case Figure::map:
    add_map(cases, machine, quick);
    break;
  }
  return cases.take();
}

std::vector<StudyGroup> groups_of(std::span<const Figure> figures_wanted, const StudyMachine& machine,
                                  bool quick) {
  std::vector<StudyGroup> groups;
  for (const Figure figure : figures_wanted) {
    for (StudyCase& each : cases_of(figure, machine, quick)) {
      auto group = std::ranges::find_if(groups, [&](const StudyGroup& known) {
        return known.pipeline == each.pipeline && known.input == each.input;
      });
      if (group == groups.end())
        group = groups.insert(groups.end(), {std::move(each.pipeline), std::move(each.input), {}});
      if (std::ranges::find(group->schedules, each.schedule) == group->schedules.end())
        group->schedules.push_back(each.schedule);
    }
  }
  return groups;
}

}  // namespace millrace::report
