#include "millrace/run/batch/cpu_times.h"

#include "millrace/base/parse_number.h"
#include "millrace/base/system_file.h"

#include <algorithm>

namespace millrace::run {
namespace {

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

}  // namespace

std::optional<CpuTimes> parse_cpu_times(std::string_view stat, const machine::CpuSet& cpus) {
  CpuTimes sum;
  bool found = false;
  while (!stat.empty()) {
    std::string_view line = stat.substr(0, stat.find('\n'));
    stat.remove_prefix(std::min(stat.size(), line.size() + 1));
    // "cpu3 user nice system idle iowait irq softirq steal guest guest_nice", the last two within the first
    // two
    const std::string_view name = next_word(line);
    if (!name.starts_with("cpu")) continue;
    const auto number = parse_number<int>(name.substr(3));
    if (!number || !cpus.contains(*number)) continue;
    found = true;
    for (int field = 0; field < 8; ++field) {
      const double ticks = parse_number<double>(next_word(line)).value_or(0);
      sum.all += ticks;
      if (field == 3 || field == 4) sum.idle += ticks;
    }
  }
  return found ? std::optional(sum) : std::nullopt;
}

std::optional<CpuTimes> read_cpu_times(const machine::CpuSet& cpus) {
  const auto stat = read_system_file("/proc/stat");
  return stat ? parse_cpu_times(*stat, cpus) : std::nullopt;
}

std::optional<double> busy_share(const CpuTimes& before, const CpuTimes& after) {
  const double all = after.all - before.all;
  if (!(all > 0)) return std::nullopt;
  return std::clamp(1 - (after.idle - before.idle) / all, 0.0, 1.0);
}

}  // namespace millrace::run
