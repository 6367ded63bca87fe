#include "millrace/placement/run/wake_ups.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/file/system_file.h"
#include "millrace/placement/task/task_files.h"

#include <fmt/format.h>

namespace millrace::placement {
namespace {

// With less run time the counts say nothing.
constexpr double least_run_seconds = 0.05;
// At this rate per second of CPU time, preemptions cost one or two percent: the switch itself and the cache
// misses after it.
constexpr double many = 500;

double stops(const WakeUps& wake_ups) {
  return static_cast<double>(wake_ups.involuntary) / wake_ups.run_seconds;
}

double waits(const WakeUps& wake_ups) {
  return static_cast<double>(wake_ups.voluntary) / wake_ups.run_seconds;
}

bool says_something(const std::optional<WakeUps>& wake_ups) {
  return wake_ups && wake_ups->run_seconds >= least_run_seconds;
}

}  // namespace

std::optional<WakeUpLook::Switches> WakeUpLook::read(pid_t thread) {
  const auto text = read_system_file(fmt::format("/proc/{}/status", thread));
  if (!text) return std::nullopt;
  const auto voluntary = parse_field(*text, "voluntary_ctxt_switches");
  const auto involuntary = parse_field(*text, "nonvoluntary_ctxt_switches");
  if (!voluntary || !involuntary) return std::nullopt;
  return Switches{*voluntary, *involuntary};
}

WakeUpLook::WakeUpLook(const std::vector<pid_t>& threads, std::int64_t run_ns) : run_ns_(run_ns) {
  // With thousands of threads a sample is enough; reading all would cost too much.
  constexpr std::size_t most = 64;
  for (const pid_t thread : threads) {
    if (before_.size() >= most) return;
    if (const auto switches = read(thread)) before_.emplace(thread, *switches);
  }
}

WakeUps WakeUpLook::until_now(std::int64_t run_ns) const {
  WakeUps found{.run_seconds = seconds(run_ns - run_ns_)};
  for (const auto& [thread, before] : before_)
    if (const auto now = read(thread)) {
      found.voluntary += now->voluntary - before.voluntary;
      found.involuntary += now->involuntary - before.involuntary;
    }
  return found;
}

std::string explain_wake_ups(const std::optional<WakeUps>& untouched, const std::optional<WakeUps>& changed,
                             const std::string& plan, std::int64_t slice_ns) {
  const std::string under_plan =
      says_something(changed) ? fmt::format("{:.0f} times under {}", stops(*changed), plan) : "";
  if (!says_something(untouched))
    return under_plan.empty() ? ""
                              : fmt::format("in a second of CPU time threads are stopped {}", under_plan);
  const double by_slices = 1 / seconds(slice_ns);
  std::string text =
      fmt::format("in a second of CPU time threads wait {:.0f} times and are stopped {:.0f} times",
                  waits(*untouched), stops(*untouched));
  if (stops(*untouched) < by_slices + many)
    return text +
           fmt::format("; ends of slices explain up to {:.0f}: class batch, which lets nobody be stopped for "
                       "one that wakes, has little to spare",
                       by_slices);
  text += ", most for others that wake, which class batch spares them";
  return under_plan.empty() ? text : text + "; " + under_plan;
}

}  // namespace millrace::placement
