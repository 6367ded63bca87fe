#include "millrace/placement/run/summary.h"

#include "millrace/base/error/clock.h"
#include "millrace/base/numbers/counted.h"
#include "millrace/base/text/printable.h"

#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

namespace millrace::placement {
namespace {

double for_each_second(double value, double seconds) { return seconds > 0 ? value / seconds : 0; }

std::string ended(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("ended by signal {} ({}){}", WTERMSIG(status), sigabbrev_np(WTERMSIG(status)),
                       WCOREDUMP(status) ? ", core dumped" : "");
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

// All lines go through here and are made printable, because programs choose the names of threads and
// programs.
class Lines {
 public:
  template <class... Args> void add(fmt::format_string<Args...> format, Args&&... args) {
    text_ += printable(fmt::format(format, std::forward<Args>(args)...)) + "\n";
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_phase(std::string_view name, const Phase& phase, Lines& lines) {
  const double run = seconds(phase.times.run_ns);
  const double wait = seconds(phase.times.wait_ns);
  lines.add("  {:<10} {:.2f} s: {:.2f} CPUs busy, {:.2f} threads waiting for one, {:.0f} switches/s, "
            "{:.0f} migrations/s",
            name, phase.seconds, for_each_second(run, phase.seconds), for_each_second(wait, phase.seconds),
            for_each_second(static_cast<double>(phase.times.turns), phase.seconds),
            for_each_second(static_cast<double>(phase.migrations), phase.seconds));
}

nlohmann::json wake_ups_json(const std::optional<WakeUps>& wake_ups) {
  if (!wake_ups) return nullptr;
  return {{"run_seconds", wake_ups->run_seconds},
          {"voluntary", wake_ups->voluntary},
          {"involuntary", wake_ups->involuntary}};
}

nlohmann::json wakers_json(const std::optional<Wakers>& wakers) {
  if (!wakers) return nullptr;
  nlohmann::json threads = nlohmann::json::array();
  for (const auto& [names, count] : wakers->by_threads)
    threads.push_back(
        {{"waker", printable(names.first)}, {"woken", printable(names.second)}, {"count", count}});
  return {{"threads", threads},
          {"interrupts", wakers->interrupts},
          {"others", wakers->others},
          {"lost", wakers->lost}};
}

nlohmann::json phase_json(const Phase& phase) {
  return {{"seconds", phase.seconds},
          {"run_seconds", seconds(phase.times.run_ns)},
          {"wait_seconds", seconds(phase.times.wait_ns)},
          {"switches", phase.times.turns},
          {"migrations", phase.migrations},
          {"wake_ups", wake_ups_json(phase.wake_ups)},
          {"wakers", wakers_json(phase.wakers)}};
}

// JSON has no infinite numbers.
nlohmann::json gain_json(const GainEstimate& gain) {
  const auto ratio = [](double log_ratio) -> nlohmann::json {
    if (!std::isfinite(log_ratio)) return nullptr;
    return std::exp(log_ratio);
  };
  return {{"ratio", ratio(gain.mean)},
          {"low", ratio(gain.low)},
          {"high", ratio(gain.high)},
          {"pairs", gain.pairs}};
}

// What the user or a trial gave the program's threads.
std::string what_was_given(const Summary& summary) {
  if (!summary.plan.untouched()) return to_string(summary.plan);
  const Plan attributes{.scheduling_class = summary.scheduling_class, .slice_ns = summary.slice_ns};
  if (attributes.untouched()) return "policy " + summary.policy;
  if (summary.policy == "none" || summary.policy == "auto") return to_string(attributes);
  return fmt::format("policy {}, {}", summary.policy, to_string(attributes));
}

}  // namespace

int shell_code(int status) {
  constexpr int killed = 128;
  return WIFSIGNALED(status) ? killed + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string to_text(const Summary& summary) {
  if (!summary.began) return "";
  Lines lines;
  lines.add("{}: {}, {:.2f} s, CPU time {:.2f} s", summary.program, ended(summary.status), summary.seconds,
            summary.cpu_seconds);
  lines.add("  threads    {} in {}, at most {} at once; seen by {}{}{}",
            counted(summary.threads.births, "birth"),
            counted(summary.threads.processes, "process", "processes"), summary.threads.most_alive,
            name_of(summary.birth), summary.birth_reason.empty() ? "" : ": ", summary.birth_reason);
  lines.add("  policy     {}; {}, {} refused{}{}", summary.policy, counted(summary.threads.changes, "change"),
            summary.threads.refused, summary.threads.refused > 0 ? ": " : "", summary.threads.first_refusal);
  if (summary.own_nice) lines.add("  millrace   has nice value {} itself", *summary.own_nice);
  if (summary.untouched.seconds > 0) add_phase("untouched", summary.untouched, lines);
  if (summary.changed.seconds > 0) add_phase("changed", summary.changed, lines);
  lines.add("  switches   {} voluntary, {} involuntary", summary.voluntary_switches,
            summary.involuntary_switches);
  const std::int64_t slice = machine::default_slice_ns();
  constexpr std::int64_t usual_slice_ns = 3'000'000;
  if (const std::string wake_ups =
          explain_wake_ups(summary.untouched.wake_ups, summary.changed.wake_ups, what_was_given(summary),
                           slice > 0 ? slice : usual_slice_ns);
      !wake_ups.empty())
    lines.add("  wake-ups   {}", wake_ups);
  const auto& wakers = summary.untouched.wakers ? summary.untouched.wakers : summary.changed.wakers;
  if (const std::string woken = wakers ? explain_wakers(*wakers) : ""; !woken.empty())
    lines.add("  woken      {}", woken);
  if (summary.progress) lines.add("  progress   judged by {}", name_of(*summary.progress));
  for (const TrialEvent& event : summary.events)
    lines.add("  decision   {}", to_string(event));
  if (summary.policy == "auto")
    lines.add("  plan       {}{}", to_string(summary.plan),
              summary.gain ? fmt::format(", gain {:+.1f} %", 100 * (std::exp(summary.gain->mean) - 1)) : "");
  for (const std::string& line : lines_of(summary.units))
    lines.add("  units      {}", line);
  if (!summary.threads.left_alone.empty())
    lines.add("  left alone {} (they look after their own mask or class)",
              fmt::join(summary.threads.left_alone, ", "));
  for (const std::string& note : summary.notes)
    lines.add("  note       {}", note);
  return lines.take();
}

nlohmann::json to_json(const Summary& summary) {
  nlohmann::json events = nlohmann::json::array();
  for (const TrialEvent& event : summary.events)
    events.push_back({{"time", event.time},
                      {"plan", to_string(event.plan)},
                      {"text", to_string(event)},
                      {"gain", gain_json(event.gain)}});
  nlohmann::json crowds = nlohmann::json::array();
  for (const Crowd& crowd : summary.threads.crowds)
    crowds.push_back(
        {{"processes", crowd.processes}, {"threads", crowd.threads}, {"seconds", crowd.seconds}});
  nlohmann::json json = {
      {"program", summary.program},
      {"exit", shell_code(summary.status)},
      {"seconds", summary.seconds},
      {"cpu_seconds", summary.cpu_seconds},
      {"startup_ms", summary.startup_ms},
      {"birth", {{"way", name_of(summary.birth)}, {"reason", summary.birth_reason}}},
      {"policy", summary.policy},
      {"plan", to_string(summary.plan)},
      {"threads",
       {{"births", summary.threads.births},
        {"processes", summary.threads.processes},
        {"most_alive", summary.threads.most_alive},
        {"changes", summary.threads.changes},
        {"refused", summary.threads.refused},
        {"left_alone", summary.threads.left_alone},
        {"crowds", crowds}}},
      {"restored", {{"threads", summary.restored.threads}, {"failed", summary.restored.failed}}},
      {"untouched", phase_json(summary.untouched)},
      {"changed", phase_json(summary.changed)},
      {"voluntary_switches", summary.voluntary_switches},
      {"involuntary_switches", summary.involuntary_switches},
      {"decisions", events},
      {"notes", summary.notes},
  };
  json["progress"] = summary.progress ? nlohmann::json(name_of(*summary.progress)) : nlohmann::json(nullptr);
  json["own_nice"] = summary.own_nice ? nlohmann::json(*summary.own_nice) : nlohmann::json(nullptr);
  json["units"] = to_json(summary.units);
  json["gain"] = summary.gain ? gain_json(*summary.gain) : nlohmann::json(nullptr);
  return json;
}

}  // namespace millrace::placement
