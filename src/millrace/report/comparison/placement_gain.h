// The gain from placing threads: measured in interleaved runs, and simulated for the quad core of the
// UDispatch+ paper. Pure.
#pragma once

#include "millrace/base/error/result.h"
#include "millrace/model/simulation/newborn_threads.h"
#include "millrace/report/plot/plots.h"

#include <span>
#include <string>
#include <string_view>

namespace millrace::report {

// The placement methods: by the kernel; by a call of the program or a tool after thread creation, one to one
// or with main on the least loaded core as well (UDispatch); by `millrace exec` at creation, the same two
// (UDispatch+).
enum class Binding { none, own_one_to_one, own_main, plus_one_to_one, plus_main };
[[nodiscard]] std::string_view name_of(Binding binding);  // the paper's: "NoB", "1-1", "M-L", "1-1+", "M-L+"

struct BindingPair {
  Binding slow;
  Binding fast;
};
[[nodiscard]] std::string name_of(const BindingPair& pair);  // "NoB / M-L+"

// (time of the one / time of the other - 1) * 100, by round. Fails if the numbers of measurements differ.
[[nodiscard]] Result<PlotValue> measured_gain(std::span<const double> slow_ms,
                                              std::span<const double> fast_ms);

// Measured thread costs in milliseconds: to create a thread, and to pin one to another CPU and have it move
// there.
struct ThreadCosts {
  double birth_ms = 0;
  double migration_ms = 0;
};

inline constexpr int quad_cores = 4;
inline constexpr double quad_balancing_ms = 4;

// Run time of a program with `passes` equal passes on the simulated quad core. Pinned threads keep their
// cores between passes. Others start with main again in each pass. kernel: its placement of threads that are
// not pinned.
[[nodiscard]] double quad_core_ms(Binding binding, const model::ForkJoinWork& pass, int passes,
                                  const ThreadCosts& costs,
                                  model::NewbornPlacement kernel = model::NewbornPlacement::left_with_maker);
[[nodiscard]] PlotValue quad_core_gain(const BindingPair& pair, const model::ForkJoinWork& pass, int passes,
                                       const ThreadCosts& costs);
// The gain of M-L+ over a kernel that looks for an idle core for each new thread.
[[nodiscard]] PlotValue quad_core_gain_today(const model::ForkJoinWork& pass, int passes,
                                             const ThreadCosts& costs);
inline constexpr std::string_view gain_today_name = "NoB, idle core at birth / M-L+";

// "10 to 20 %", or "10 %" if both round to the same whole number.
[[nodiscard]] std::string percent_text(double least, double most);

// Describes the simulation and its inputs, for the text of a study.
[[nodiscard]] std::string about_quad_core(const ThreadCosts& costs);

}  // namespace millrace::report
