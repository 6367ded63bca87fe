// The figures that `millrace study` repeats, and what is measured for each. Pure.
#pragma once

#include "millrace/base/result.h"
#include "millrace/image/layout/schedule.h"
#include "millrace/machine/report/machine_report.h"

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::report {

// Of the execution-structures paper, and the map of structures, which its outlook wishes for.
enum class Figure { fig2, fig3, fig4, fig5, fig6, fig7, map };

// "fig2" to "fig7", "map"
[[nodiscard]] std::string_view name_of(Figure figure);
// What it shows, as a heading.
[[nodiscard]] std::string_view title_of(Figure figure);
[[nodiscard]] std::span<const Figure> all_figures();
// Names, divided by commas within a word too, "all" for all of them. In the order of all_figures(), each
// once. Usage error that lists the names.
[[nodiscard]] Result<std::vector<Figure>> parse_figures(std::span<const std::string> words);

// What takes the place of the paper's clips in its figures; any other input is the name of a generated video.
inline constexpr std::string_view foreman = "foreman";
inline constexpr std::string_view tractor = "tractor";

// One bar or point: a pipeline on an input by a schedule.
struct StudyCase {
  std::string pipeline;  // as image::load_pipeline() takes it
  std::string input;     // foreman, tractor, or "test:..."
  image::Schedule schedule;

  bool operator==(const StudyCase&) const = default;
};

// "sequential", "BD", "BD-STORE", "BD-CACHED"; of others, millrace's own.
[[nodiscard]] std::string_view paper_name(image::Structure structure);

// Which clips take whose place, by their sizes: of two the smaller one foreman's; one alone that which is
// nearer in size. The index of each. Usage error for more than two.
[[nodiscard]] Result<std::map<std::string_view, std::size_t>> places_of(std::span<const image::Size> sizes);

// What can be used here.
struct StudyMachine {
  int threads = 1;       // as many as may be used
  int cores = 1;         // that they lie on
  bool modules = false;  // cores share floating-point units, as Bulldozer's do
  machine::Isa isa = machine::Isa::baseline;
};
[[nodiscard]] StudyMachine study_machine(const machine::MachineReport& machine);

// The schedule of the paper's programs: nothing fused but what its structure is; with more than one thread
// either made anew for every stage, as the paper has it, or taken from the pool.
enum class Team { anew, pool };
[[nodiscard]] image::Schedule
paper_schedule(const StudyMachine& machine, image::Structure structure, int threads, Team team,
               machine::AffinityArrangement affinity = machine::AffinityArrangement::free);

// 1 to n; on large machines not each: every one up to 8, then fewer, with the number of cores and n.
[[nodiscard]] std::vector<int> thread_counts(const StudyMachine& machine);
// Of figure 6: 4, or as many as there are.
[[nodiscard]] int threads_of_fig6(const StudyMachine& machine);
// Of figure 7: io-same, io-diff and, where there are modules, module-diff, which are the paper's; and pinned.
[[nodiscard]] std::vector<machine::AffinityArrangement> affinities_of_fig7(const StudyMachine& machine);

// The map: footprints (sizes of a plane of floats) and how much is computed for each of its pixels before a
// 3x3 window reads the result.
struct MapAxes {
  std::vector<image::Size> sizes;
  std::vector<int> stages;   // pointwise ones, three operations each
  std::vector<int> threads;  // a map for each
};
[[nodiscard]] MapAxes map_axes(const StudyMachine& machine, bool quick);
inline constexpr int operations_per_stage = 3;
[[nodiscard]] std::span<const image::Structure> map_structures();
[[nodiscard]] StudyCase map_case(const StudyMachine& machine, image::Size size, int stages,
                                 image::Structure structure, int threads);

// All that a figure shows, also what may prove impossible here; each case once.
[[nodiscard]] std::vector<StudyCase> cases_of(Figure figure, const StudyMachine& machine, bool quick);

// Cases that are compared, and therefore take turns: those of one pipeline and input.
struct StudyGroup {
  std::string pipeline;
  std::string input;
  std::vector<image::Schedule> schedules;
};
// Of several figures; a case that occurs in more of them is there once.
[[nodiscard]] std::vector<StudyGroup> groups_of(std::span<const Figure> figures, const StudyMachine& machine,
                                                bool quick);

}  // namespace millrace::report
