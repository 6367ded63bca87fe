#include "millrace/machine/limits/cpu_times.h"

#include "millrace/base/file/system_file.h"
#include "millrace/base/text/parse_number.h"
#include "millrace/base/text/take_word.h"

#include <algorithm>
#include <cstddef>

namespace millrace::machine {
namespace {

// Indexed by CPU number.
std::vector<std::optional<CpuTimes>> parse_each(std::string_view text) {
  constexpr std::size_t idle_column = 3;
  constexpr std::size_t wait_column = 4;
  constexpr std::size_t columns = 8;  // user to steal; user includes guest time
  constexpr std::size_t highest_cpu = 65535;
  std::vector<std::optional<CpuTimes>> cpus;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    const std::string_view label = take_word(line);
    if (!label.starts_with("cpu")) break;
    const auto cpu = parse_number<std::size_t>(label.substr(3));
    if (!cpu || *cpu > highest_cpu) continue;
    CpuTimes times;
    for (std::size_t column = 0; column < columns; ++column) {
      const std::int64_t value = parse_number<std::int64_t>(take_word(line)).value_or(0);
      times.all += value;
      if (column != idle_column && column != wait_column) times.busy += value;
    }
    if (cpus.size() <= *cpu) cpus.resize(*cpu + 1);
    cpus[*cpu] = times;
  }
  return cpus;
}

}  // namespace

std::optional<CpuTimes> parse_cpu_times(std::string_view stat, const CpuSet& cpus) {
  const auto each = parse_each(stat);
  std::optional<CpuTimes> sum;
  for (std::size_t cpu = 0; cpu < each.size(); ++cpu) {
    if (!each[cpu] || !cpus.contains(static_cast<int>(cpu))) continue;
    if (!sum) sum.emplace();
    sum->busy += each[cpu]->busy;
    sum->all += each[cpu]->all;
  }
  return sum;
}

std::optional<CpuTimes> read_cpu_times(const CpuSet& cpus) {
  const auto stat = read_system_file("/proc/stat");
  return stat ? parse_cpu_times(*stat, cpus) : std::nullopt;
}

std::optional<double> busy_share(const CpuTimes& before, const CpuTimes& after) {
  const std::int64_t all = after.all - before.all;
  if (all <= 0) return std::nullopt;
  return std::clamp(static_cast<double>(after.busy - before.busy) / static_cast<double>(all), 0.0, 1.0);
}

std::vector<double> parse_load(std::string_view before, std::string_view after) {
  const auto first = parse_each(before);
  const auto second = parse_each(after);
  std::vector<double> load(second.size(), 0);
  for (std::size_t cpu = 0; cpu < std::min(first.size(), second.size()); ++cpu)
    if (first[cpu] && second[cpu]) load[cpu] = busy_share(*first[cpu], *second[cpu]).value_or(0);
  return load;
}

}  // namespace millrace::machine
