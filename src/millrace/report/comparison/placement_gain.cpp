#include "millrace/report/comparison/placement_gain.h"

#include "millrace/report/study/mean_interval.h"

#include <cmath>

#include <fmt/format.h>

namespace millrace::report {
namespace {

using model::NewbornPlacement;

PlotValue gain_in_percent(double slow_ms, double fast_ms) {
  const double gain = 100 * (slow_ms / fast_ms - 1);
  return {gain, gain, gain};
}

NewbornPlacement placement_of(Binding binding, NewbornPlacement kernel) {
  switch (binding) {
  case Binding::none:
    return kernel;
  case Binding::own_one_to_one:
  case Binding::own_main:
    return NewbornPlacement::bound_by_itself;
  case Binding::plus_one_to_one:
  case Binding::plus_main:
    return NewbornPlacement::bound_at_birth;
  }
  return kernel;
}

}  // namespace

std::string_view name_of(Binding binding) {
  switch (binding) {
  case Binding::none:
    return "NoB";
  case Binding::own_one_to_one:
    return "1-1";
  case Binding::own_main:
    return "M-L";
  case Binding::plus_one_to_one:
    return "1-1+";
  case Binding::plus_main:
    return "M-L+";
  }
  return "";
}

std::string name_of(const BindingPair& pair) {
  return fmt::format("{} / {}", name_of(pair.slow), name_of(pair.fast));
}

Result<PlotValue> measured_gain(std::span<const double> slow_ms, std::span<const double> fast_ms) {
  if (slow_ms.size() != fast_ms.size()) return failure("some settings were measured more often than others");
  const MeanInterval ratio = ratio_interval(slow_ms, fast_ms);
  return PlotValue{100 * (ratio.mean - 1), 100 * (ratio.low - 1), 100 * (ratio.high - 1), ratio.known};
}

double quad_core_ms(Binding binding, const model::ForkJoinWork& pass, int passes, const ThreadCosts& costs,
                    NewbornPlacement kernel) {
  model::NewbornCase newborns{.work = pass,
                              .placement = placement_of(binding, kernel),
                              .cores = quad_cores,
                              .main_apart = binding == Binding::own_main || binding == Binding::plus_main,
                              .balancing_ms = quad_balancing_ms,
                              .migration_ms = costs.migration_ms,
                              .first_call_ms = costs.birth_ms};
  if (newborns.placement != NewbornPlacement::bound_by_itself)
    return passes * simulate_mean_pass_ms(newborns);
  const double first = simulate_mean_pass_ms(newborns);
  newborns.placement = NewbornPlacement::bound_at_birth;
  return first + (passes - 1) * simulate_mean_pass_ms(newborns);
}

PlotValue quad_core_gain(const BindingPair& pair, const model::ForkJoinWork& pass, int passes,
                         const ThreadCosts& costs) {
  return gain_in_percent(quad_core_ms(pair.slow, pass, passes, costs),
                         quad_core_ms(pair.fast, pass, passes, costs));
}

PlotValue quad_core_gain_today(const model::ForkJoinWork& pass, int passes, const ThreadCosts& costs) {
  return gain_in_percent(quad_core_ms(Binding::none, pass, passes, costs, NewbornPlacement::on_idle_core),
                         quad_core_ms(Binding::plus_main, pass, passes, costs));
}

std::string percent_text(double least, double most) {
  const double from = std::round(least) + 0.0;  // avoids a negative zero
  const double to = std::round(most) + 0.0;
  return from == to ? fmt::format("{:.0f} %", to) : fmt::format("{:.0f} to {:.0f} %", from, to);
}

std::string about_quad_core(const ThreadCosts& costs) {
  return fmt::format("Simulated: four cores with nothing else to do. NoB leaves new threads with their maker "
                     "until an idle core "
                     "looks for work, as it becomes idle and every {:.0f} ms (an assumption on the paper's "
                     "kernel of 2008, of "
                     "which it gives no figures); 1-1 and M-L bind a thread by its first call, 1-1+ and M-L+ "
                     "before it runs; "
                     "under M-L and M-L+ main is on the last core. Service times were measured here by one "
                     "thread on one CPU, "
                     "and so was what making ({:.3f} ms) and moving ({:.3f} ms) a thread takes.",
                     quad_balancing_ms, costs.birth_ms, costs.migration_ms);
}

}  // namespace millrace::report
