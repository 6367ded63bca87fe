#include "millrace/placement/policy/load_gauge.h"

#include "millrace/base/file/system_file.h"
#include "millrace/machine/limits/cpu_times.h"
#include "millrace/placement/task/task_files.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace millrace::placement {
namespace {

// The kernel counts in ticks of 10 ms: over less than two of them, most CPUs show nothing.
constexpr std::int64_t tick_ns = 10'000'000;
constexpr std::int64_t shortest_time_ns = 2 * tick_ns;

std::map<pid_t, MainRun> runs_of(std::span<const pid_t> processes) {
  std::map<pid_t, MainRun> runs;
  for (const pid_t process : processes) {
    const auto text = read_system_file(fmt::format("/proc/{0}/task/{0}/schedstat", process));
    const auto times = text ? parse_schedstat(*text) : std::nullopt;
    const auto stat = read_task_stat(process, process);
    if (times && stat) runs[process] = {times->run_ns, stat->cpu};
  }
  return runs;
}

}  // namespace

std::vector<double> load_of_others(std::vector<double> load, std::int64_t passed_ns,
                                   const std::map<pid_t, MainRun>& before,
                                   const std::map<pid_t, MainRun>& now) {
  if (passed_ns <= 0) return load;
  for (const auto& [process, run] : now) {
    const auto then = before.find(process);
    if (then == before.end() || run.cpu < 0 || static_cast<std::size_t>(run.cpu) >= load.size()) continue;
    double& share = load[static_cast<std::size_t>(run.cpu)];
    share = std::max(0.0, share - static_cast<double>(run.run_ns - then->second.run_ns) /
                                      static_cast<double>(passed_ns));
  }
  return load;
}

bool LoadGauge::due(std::int64_t now_ns) const {
  return readings_.empty() || now_ns - readings_.back().time_ns >= tick_ns;
}

std::optional<std::vector<double>> LoadGauge::look(std::int64_t now_ns, std::span<const pid_t> processes) {
  if (!due(now_ns)) return std::nullopt;
  auto stat = read_system_file("/proc/stat");
  if (!stat) return std::nullopt;
  readings_.push_back({now_ns, std::move(*stat), runs_of(processes)});
  while (readings_.size() > 1 && now_ns - readings_[1].time_ns >= shortest_time_ns)
    readings_.pop_front();
  const Reading& before = readings_.front();
  const Reading& now = readings_.back();
  if (now.time_ns - before.time_ns < shortest_time_ns) return std::nullopt;
  return load_of_others(machine::parse_load(before.stat, now.stat), now.time_ns - before.time_ns,
                        before.mains, now.mains);
}

}  // namespace millrace::placement
