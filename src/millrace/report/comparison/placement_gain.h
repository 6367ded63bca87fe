// What placing threads gains: measured turn by turn, and on the quad core of the UDispatch+ paper as it is
// simulated. Pure.
#pragma once

#include "millrace/base/result.h"
#include "millrace/model/simulation/newborn_threads.h"
#include "millrace/report/plot/plots.h"

#include <span>
#include <string>
#include <string_view>

namespace millrace::report {

// Who places the threads: the kernel; the program or somebody else by a call once they are born, one to one
// or main on the least loaded core too (UDispatch); `millrace exec` at their birth, the same two
// (UDispatch+).
enum class Binding { none, own_one_to_one, own_main, plus_one_to_one, plus_main };
[[nodiscard]] std::string_view name_of(Binding binding);  // the paper's: "NoB", "1-1", "M-L", "1-1+", "M-L+"

struct BindingPair {
  Binding slow;
  Binding fast;
};
[[nodiscard]] std::string name_of(const BindingPair& pair);  // "NoB / M-L+"

// (time of the one / time of the other - 1) * 100, turn by turn. Failure where one was measured more often.
[[nodiscard]] Result<PlotValue> measured_gain(std::span<const double> slow_ms,
                                              std::span<const double> fast_ms);

// What threads cost here, in milliseconds: for main to make one, for one to be bound to another CPU and be
// there.
struct ThreadCosts {
  double birth_ms = 0;
  double migration_ms = 0;
};

inline constexpr int quad_cores = 4;
inline constexpr double quad_balancing_ms = 4;

// How long a program of so many equal passes takes on the simulated quad core. Threads that are bound stay so
// from one pass to the next; others are left with main again in each. kernel: where it leaves those that
// nobody binds.
[[nodiscard]] double quad_core_ms(Binding binding, const model::ForkJoinWork& pass, int passes,
                                  const ThreadCosts& costs,
                                  model::NewbornPlacement kernel = model::NewbornPlacement::left_with_maker);
[[nodiscard]] PlotValue quad_core_gain(const BindingPair& pair, const model::ForkJoinWork& pass, int passes,
                                       const ThreadCosts& costs);
// The gain of M-L+ over a kernel that looks for an idle core at each birth.
[[nodiscard]] PlotValue quad_core_gain_today(const model::ForkJoinWork& pass, int passes,
                                             const ThreadCosts& costs);
inline constexpr std::string_view gain_today_name = "NoB, idle core at birth / M-L+";

// "10 to 20 %", or "10 %" where both are that in whole numbers.
[[nodiscard]] std::string percent_text(double least, double most);

// How it is simulated, and from what; for the text of a study.
[[nodiscard]] std::string about_quad_core(const ThreadCosts& costs);

}  // namespace millrace::report
