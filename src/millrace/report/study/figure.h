// The figures that `millrace study` reproduces, and the measurements for each. Pure.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/image/layout/schedule.h"
#include "millrace/machine/report/machine_report.h"

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::report {

// Those of the execution-structures paper, and the map of structures that its outlook asks for.
enum class Figure { fig2, fig3, fig4, fig5, fig6, fig7, map };

// "fig2" to "fig7", "map"
[[nodiscard]] std::string_view name_of(Figure figure);
// A heading.
[[nodiscard]] std::string_view title_of(Figure figure);
[[nodiscard]] std::span<const Figure> all_figures();
// Takes names, also separated by commas within a word, or "all". Returns them in the order of all_figures(),
// each once. The usage error lists the names.
[[nodiscard]] Result<std::vector<Figure>> parse_figures(std::span<const std::string> words);

// Placeholders for the paper's clips. Any other input is the name of a generated video.
inline constexpr std::string_view foreman = "foreman";
inline constexpr std::string_view tractor = "tractor";

// One bar or point: a pipeline on an input with a schedule.
struct StudyCase {
  std::string pipeline;  // as for image::load_pipeline()
  std::string input;     // foreman, tractor, or "test:..."
  image::Schedule schedule;

  bool operator==(const StudyCase&) const = default;
};

// "sequential", "BD", "BD-STORE", "BD-CACHED"; millrace's own names for others.
[[nodiscard]] std::string_view paper_name(image::Structure structure);

// Assigns clips to the placeholders by size and returns the index of each. Of two clips, the smaller is
// foreman. A single clip takes the placeholder nearer in size. Returns a usage error for more than two.
[[nodiscard]] Result<std::map<std::string_view, std::size_t>> places_of(std::span<const image::Size> sizes);

// The available resources.
struct StudyMachine {
  int threads = 1;       // as many as may be used
  int cores = 1;         // spanned by the threads
  bool modules = false;  // cores share floating-point units, as on Bulldozer
  machine::Isa isa = machine::Isa::baseline;
};
[[nodiscard]] StudyMachine study_machine(const machine::MachineReport& machine);

// The schedule of the paper's programs: no fusion beyond that of the structure. With several threads, they
// are either created anew for every stage, as in the paper, or taken from the pool.
enum class Team { anew, pool };
[[nodiscard]] image::Schedule
paper_schedule(const StudyMachine& machine, image::Structure structure, int threads, Team team,
               machine::AffinityArrangement affinity = machine::AffinityArrangement::free);

// 1 to n. On large machines: every number up to 8, then fewer, including the number of cores and n.
[[nodiscard]] std::vector<int> thread_counts(const StudyMachine& machine);
// For figure 6: 4, or all threads if there are fewer.
[[nodiscard]] int threads_of_fig6(const StudyMachine& machine);
// For figure 7: the paper's io-same, io-diff and, on machines with modules, module-diff; and pinned.
[[nodiscard]] std::vector<machine::AffinityArrangement> affinities_of_fig7(const StudyMachine& machine);

// The axes of the map: footprints (sizes of a plane of floats) and the computation per pixel before a 3x3
// window reads the result.
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

// All cases of a figure, including those that may prove impossible here; each once.
[[nodiscard]] std::vector<StudyCase> cases_of(Figure figure, const StudyMachine& machine, bool quick);

// Cases that are compared and therefore interleaved: those of one pipeline and input.
struct StudyGroup {
  std::string pipeline;
  std::string input;
  std::vector<image::Schedule> schedules;
};
// The groups of several figures. Cases that they share are included once.
[[nodiscard]] std::vector<StudyGroup> groups_of(std::span<const Figure> figures, const StudyMachine& machine,
                                                bool quick);

}  // namespace millrace::report
