#include "millrace/report/study/study_plots.h"

#include "millrace/image/pipeline/presets.h"
#include "millrace/report/plot/plots.h"
#include "millrace/report/study/structure_map.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace millrace::report {
namespace {

using image::Structure;
using machine::AffinityArrangement;

constexpr std::array teams{std::pair{Team::anew, "threads made anew"},
                           std::pair{Team::pool, "threads of a pool"}};

PlotValue value_of(const MeanInterval& interval) {
  return {interval.mean, interval.low, interval.high, interval.known};
}

StudyCase at(const StudyResult& study, std::string_view pipeline, std::string_view input, Structure structure,
             int threads, Team team, AffinityArrangement affinity = AffinityArrangement::free) {
  return {std::string(pipeline), std::string(input),
          paper_schedule(study.machine, structure, threads, team, affinity)};
}

std::vector<std::string> scaling_plots(const StudyResult& study, std::string_view input) {
  std::vector<std::string> plots;
  for (const auto& [team, team_name] : teams) {
    LinePlot plot{.title =
                      fmt::format("B on the {} clip, {}", input == tractor ? "large" : "small", team_name),
                  .x_label = "threads",
                  .y_label = "times the speed of one thread",
                  .diagonal = true};
    for (const Structure structure : {Structure::sequential, Structure::backward}) {
      LineSeries series{std::string(paper_name(structure)), {}};
      for (const int threads : thread_counts(study.machine)) {
        if (const auto speedup = study.ratio(at(study, "@B", input, structure, 1, team),
                                             at(study, "@B", input, structure, threads, team)))
          series.points.push_back({static_cast<double>(threads), value_of(*speedup)});
      }
      plot.series.push_back(std::move(series));
    }
    plots.push_back(to_svg(plot));
  }
  return plots;
}

// Times on the smaller clip, relative to `sequential` with one thread.
std::vector<std::string> relative_plots(const StudyResult& study,
                                        const std::vector<std::pair<Structure, int>>& bars) {
  std::vector<std::string> plots;
  for (const auto& [team, team_name] : teams) {
    BarPlot plot{.title = fmt::format("A to G on the small clip, {}", team_name),
                 .y_label = "time, of sequential with one thread (lower is better)",
                 .reference = 1};
    for (const image::Preset& preset : image::presets())
      plot.groups.emplace_back(preset.name.substr(1));
    for (const auto& [structure, threads] : bars) {
      BarSeries series{
          fmt::format("{}, {} thread{}", paper_name(structure), threads, threads == 1 ? "" : "s"), {}};
      for (const image::Preset& preset : image::presets()) {
        const auto ratio = study.ratio(at(study, preset.name, foreman, structure, threads, team),
                                       at(study, preset.name, foreman, Structure::sequential, 1, team));
        series.bars.push_back(ratio ? std::optional(value_of(*ratio)) : std::nullopt);
      }
      plot.series.push_back(std::move(series));
    }
    plots.push_back(to_svg(plot));
  }
  return plots;
}

LineSeries times_of(const StudyResult& study, std::string name, std::string_view pipeline,
                    Structure structure, Team team,
                    AffinityArrangement affinity = AffinityArrangement::free) {
  LineSeries series{std::move(name), {}};
  for (const int threads : thread_counts(study.machine)) {
    const CaseTimes* const times =
        study.find(at(study, pipeline, foreman, structure, threads, team, affinity));
    if (times != nullptr && !times->ms.empty())
      series.points.push_back({static_cast<double>(threads), value_of(mean_interval(times->ms))});
  }
  return series;
}

std::vector<std::string> storing_plots(const StudyResult& study) {
  std::vector<std::string> plots;
  for (const std::string_view pipeline : {"@D", "@G"}) {
    for (const auto& [team, team_name] : teams) {
      LinePlot plot{.title = fmt::format("{} on the small clip, {}", pipeline.substr(1), team_name),
                    .x_label = "threads",
                    .y_label = "ms a frame"};
      for (const Structure structure :
           {Structure::sequential, Structure::backward, Structure::backward_store})
        plot.series.push_back(times_of(study, std::string(paper_name(structure)), pipeline, structure, team));
      plots.push_back(to_svg(plot));
    }
  }
  return plots;
}

std::vector<std::string> affinity_plots(const StudyResult& study) {
  std::vector<std::string> plots;
  for (const auto& [team, team_name] : teams) {
    LinePlot plot{.title = fmt::format("B on the small clip, sequential, {}", team_name),
                  .x_label = "threads",
                  .y_label = "ms a frame"};
    for (const AffinityArrangement affinity : affinities_of_fig7(study.machine))
      plot.series.push_back(times_of(study, std::string(machine::name_of(affinity)), "@B",
                                     Structure::sequential, team, affinity));
    plots.push_back(to_svg(plot));
  }
  return plots;
}

// "48 kB", "8.3 MB"
std::string plane_bytes_text(std::int64_t bytes) {
  return bytes < 1'000'000 ? fmt::format("{:.0f} kB", static_cast<double>(bytes) * 1e-3)
                           : fmt::format("{:.1f} MB", static_cast<double>(bytes) * 1e-6);
}

std::vector<std::string> map_plots(const StudyResult& study) {
  std::vector<std::string> plots;
  for (const int threads : map_axes(study.machine, study.quick).threads) {
    const StructureMap map = structure_map(study, threads);
    MapPlot plot{.title = fmt::format("best structure, {} thread{}", threads, threads == 1 ? "" : "s"),
                 .x_label = "a plane of floats",
                 .y_label = "operations a pixel before a 3x3 window; times as fast as sequential"};
    for (const image::Size size : map.axes.sizes)
      plot.columns.push_back(plane_bytes_text(std::int64_t{4} * size.width * size.height));
    for (const Structure structure : map_structures())
      plot.kinds.emplace_back(image::name_of(structure));
    for (std::size_t r = 0; r < map.axes.stages.size(); ++r) {
      plot.rows.push_back(std::to_string(operations_per_stage * map.axes.stages[r]));
      auto& fields = plot.fields.emplace_back();
      for (const auto& entry : map.entries[r]) {
        if (!entry) {
          fields.emplace_back();
          continue;
        }
        const auto kinds = map_structures();
        const auto kind = static_cast<std::size_t>(std::ranges::find(kinds, entry->best) - kinds.begin());
        fields.push_back(MapField{
            .kind = kind,
            .text = fmt::format("{:.2f}", entry->sequential.mean),
            .tip = fmt::format("{}: {:.3f} ms; the next best takes {:.2f} times as long ({:.2f} to {:.2f})",
                               plot.kinds[kind], entry->best_ms, entry->second.mean, entry->second.low,
                               entry->second.high),
            .pale = entry->tied});
      }
    }
    plots.push_back(to_svg(plot));
  }
  return plots;
}

}  // namespace

std::vector<std::string> plots_of(Figure figure, const StudyResult& study) {
  switch (figure) {
  case Figure::fig2:
    return scaling_plots(study, tractor);
  case Figure::fig3:
    return scaling_plots(study, foreman);
  case Figure::fig4: {
    std::vector<std::pair<Structure, int>> bars{{Structure::sequential, 1}, {Structure::backward, 1}};
    if (study.machine.threads > 1) {
      bars.emplace_back(Structure::sequential, study.machine.threads);
      bars.emplace_back(Structure::backward, study.machine.threads);
    }
    return relative_plots(study, bars);
  }
  case Figure::fig5:
    return storing_plots(study);
  case Figure::fig6: {
    const int threads = threads_of_fig6(study.machine);
    return relative_plots(study, {{Structure::sequential, threads},
                                  {Structure::backward, threads},
                                  {Structure::backward_cached, threads}});
  }
  case Figure::fig7:
    return affinity_plots(study);
  case Figure::map:
    return map_plots(study);
  }
  return {};
}

}  // namespace millrace::report
