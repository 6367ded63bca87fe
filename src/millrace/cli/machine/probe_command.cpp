#include "millrace/cli/machine/probe_command.h"

#include "millrace/base/descriptor/stoppable_wait.h"
#include "millrace/base/process/interrupt.h"
#include "millrace/base/text/print.h"
#include "millrace/machine/limits/usable_cpus.h"
#include "millrace/machine/limits/usable_memory.h"
#include "millrace/machine/probe/pair_probe.h"
#include "millrace/machine/probe/probe_report.h"

#include <chrono>
#include <vector>

#include <nlohmann/json.hpp>

namespace millrace::cli {
namespace {

Result<machine::CpuSet> cpus_of(const ProbeOptions& options, const machine::Topology& topology) {
  auto usable = machine::usable_cpus(topology.cpus());
  if (!usable) return std::unexpected(usable.error());
  if (options.cpus.empty()) return usable->cpus;
  auto cpus = machine::CpuSet::parse(options.cpus);
  if (!cpus) return usage_error("--cpus: {}", cpus.error().message);
  if (cpus->empty() || !usable->cpus.contains_all(*cpus))
    return usage_error("--cpus: cannot probe {}; choose from {}", options.cpus, usable->cpus.to_string());
  return cpus;
}

Status check(const ProbeOptions& options) {
  constexpr double shortest_s = 0.1;
  constexpr double longest_s = 86400;
  constexpr int most = 1'000'000;
  if (!(options.every_s >= shortest_s && options.every_s <= longest_s))
    return usage_error("--every: {} is out of range; give {} to {}", options.every_s, shortest_s, longest_s);
  if (options.times && (*options.times < 1 || *options.times > most))
    return usage_error("--times: {} is out of range; give 1 to {}", *options.times, most);
  if (options.watch && options.json.wanted() && options.json.file != "-")
    return usage_error("--json {}: the output of --watch has no end; redirect standard output instead",
                       options.json.file);
  return options.json.check();
}

Status print_json(const nlohmann::json& json, const ProbeOptions& options) {
  if (!options.watch) return options.json.write(json);
  print_out("{}\n", json.dump());
  static_cast<void>(std::fflush(stdout));
  return {};
}

Status probe(const ProbeOptions& options, const Interrupt& interrupt) {
  const auto topology = machine::Topology::live();
  if (!topology) return std::unexpected(topology.error());
  const auto cpus = cpus_of(options, *topology);
  if (!cpus) return std::unexpected(cpus.error());
  std::vector<machine::ProbedPair> pairs;
  for (const auto& [first, second] : machine::pairs_to_probe(*topology, *cpus))
    pairs.push_back({.first = first, .second = second, .last = {}, .history = {}});
  if (pairs.empty()) {
    if (options.json.wanted()) return print_json(machine::to_json(*topology, pairs, 0), options);
    print_out("CPU {} is the only usable one, and shares with no other.\n", cpus->to_string());
    return {};
  }
  auto probe = machine::PairProbe::make(*topology, machine::usable_memory());
  if (!probe) return std::unexpected(probe.error());
  const StoppableWait wait(interrupt.token());
  const int times = options.times.value_or(options.watch ? 0 : 1);  // 0: forever
  for (int n = 1; times == 0 || n <= times; ++n) {
    const auto pause = std::chrono::milliseconds(static_cast<std::int64_t>(options.every_s * 1000));
    if (n > 1 && !wait.for_time(pause)) return std::unexpected(Error{ErrorKind::interrupted, "interrupted"});
    for (machine::ProbedPair& pair : pairs) {
      const auto measured = probe->measure(pair.first, pair.second, interrupt.token());
      if (!measured) return std::unexpected(measured.error());
      pair.last = machine::judge(*measured);
      pair.history.add(pair.last.state);
    }
    if (options.watch && options.json.wanted()) {
      if (Status told = print_json(machine::to_json(*topology, pairs, n), options); !told) return told;
    } else if (options.watch) {
      print_out("{}", machine::to_lines(pairs, n));
      static_cast<void>(std::fflush(stdout));
    }
    if (options.watch && std::ferror(stdout) != 0) return {};  // the reader is gone
    if (!options.watch && n == times) {
      if (options.json.wanted()) return print_json(machine::to_json(*topology, pairs, n), options);
      print_out("{}", machine::to_text(*topology, pairs));
    }
  }
  return {};
}

}  // namespace

Status probe_machine(const ProbeOptions& options) {
  if (const Status possible = check(options); !possible) return possible;
  const Interrupt interrupt;
  return interrupt.told(probe(options, interrupt));
}

}  // namespace millrace::cli
