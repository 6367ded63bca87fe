#include "millrace/placement/surroundings.h"

#include "millrace/placement/task_files.h"

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

#include <fmt/format.h>

namespace millrace::placement {

Result<Surroundings> read_surroundings(const machine::CpuSet& allowed,
                                       std::optional<machine::Topology>& topology, bool load) {
  const auto before = load ? read_small_file("/proc/stat") : std::nullopt;
  if (!topology) {
    auto live = machine::Topology::live();
    if (!live) return std::unexpected(live.error());
    topology.emplace(std::move(*live));
  }
  Surroundings surroundings{.topology = &*topology, .allowed = allowed};
  if (before) {
    // The kernel counts in ticks of 10 ms: within less, most CPUs show nothing.
    constexpr useconds_t two_ticks_us = 20'000;
    usleep(two_ticks_us);
    if (const auto after = read_small_file("/proc/stat")) surroundings.load = parse_load(*before, *after);
  }
  return surroundings;
}

bool others_are_running(const machine::CpuSet& allowed) {
  constexpr int looks = 3;
  constexpr int cpus_for_each = 4;
  constexpr useconds_t pause_us = 1000;
  for (int look = 0; look < looks; ++look) {
    if (look > 0) usleep(pause_us);
    const auto runnable = parse_runnable(read_small_file("/proc/loadavg").value_or(""));
    // This thread is one of them.
    if (!runnable || *runnable - 1 <= allowed.count() / cpus_for_each) return false;
  }
  return true;
}

std::vector<std::string> diagnostics(bool attributes_changed) {
  std::vector<std::string> notes;
  const auto first_word = [](const char* path) {
    std::string text = read_small_file(path).value_or("");
    text.erase(std::min(text.find_first_of(" \n"), text.size()));
    return text;
  };
  if (attributes_changed && first_word("/proc/sys/kernel/sched_autogroup_enabled") == "1")
    notes.emplace_back("autogroups are on (kernel.sched_autogroup_enabled): class and slice count among the "
                       "programs of one session only");
  if (first_word("/sys/kernel/sched_ext/state") == "enabled")
    notes.emplace_back("a sched_ext scheduler is loaded: it decides what class and slice mean");
  for (const char* name : {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"})
    if (std::getenv(name) != nullptr)  // NOLINT(concurrency-mt-unsafe): nothing sets it
      notes.push_back(fmt::format("{} is set: the program may place its threads itself", name));
  return notes;
}

}  // namespace millrace::placement
