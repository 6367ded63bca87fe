#include "millrace/report/study/study_result.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::report {
namespace {

std::string cache_bytes_text(std::int64_t bytes) {
  return bytes < 1'048'576 ? fmt::format("{} kB", bytes / 1024) : fmt::format("{} MB", bytes / 1'048'576);
}

// The caches of one CPU, assuming that all are alike.
std::string caches_text(const machine::Topology& topology, int cpu) {
  std::vector<std::string> words;
  for (int level = 1; level <= 4; ++level) {
    const machine::Cache* const cache = topology.data_cache_of(cpu, level);
    if (cache == nullptr) continue;
    const auto sharers = cache->cpus.count();
    words.push_back(fmt::format("{} L{}{}", cache_bytes_text(cache->size_bytes), level,
                                sharers > 1 ? fmt::format(" for {} CPUs", sharers) : ""));
  }
  return fmt::format("{}{}", fmt::join(words, ", "), topology.trust().caches_guessed ? " (guessed)" : "");
}

}  // namespace

const CaseTimes* StudyResult::find(const StudyCase& which) const {
  const auto found = std::ranges::find(cases, which, &CaseTimes::which);
  return found == cases.end() ? nullptr : &*found;
}

std::optional<MeanInterval> StudyResult::ratio(const StudyCase& dividend, const StudyCase& divisor) const {
  const CaseTimes* const above = find(dividend);
  const CaseTimes* const below = find(divisor);
  if (above == nullptr || below == nullptr || above->ms.empty() || below->ms.empty()) return std::nullopt;
  return ratio_interval(above->ms, below->ms);
}

void describe_machine(StudyResult& study, const machine::MachineReport& machine, int threads) {
  study.machine = study_machine(machine);
  study.machine.threads = std::min(study.machine.threads, threads);
  study.machine.cores = std::min(study.machine.cores, study.machine.threads);
  const machine::Topology& topology = machine.topology;
  study.processor = topology.packages().empty() || topology.packages().front().model.empty()
                        ? topology.architecture()
                        : topology.packages().front().model;
  if (!topology.trust().hypervisor.empty()) study.processor += ", virtual";
  study.caches = caches_text(topology, machine.usable.cpus.lowest());
  study.kernel = machine.kernel;
}

}  // namespace millrace::report
