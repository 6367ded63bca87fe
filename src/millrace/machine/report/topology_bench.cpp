// Cost of reading the machine at program start, and of a placement decision.
#include "millrace/machine/limits/usable_cpus.h"
#include "millrace/machine/report/machine_report.h"
#include "millrace/machine/topology/affinity_arrangement.h"
#include "millrace/machine/topology/test_machines.h"

#include <benchmark/benchmark.h>

namespace millrace::machine {
namespace {

void read_live_topology(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(Topology::live());
}
BENCHMARK(read_live_topology)->Unit(benchmark::kMillisecond);

void read_usable_cpus(benchmark::State& state) {
  const CpuSet online = CpuSet::range(0, 7);
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(usable_cpus(online));
}
BENCHMARK(read_usable_cpus)->Unit(benchmark::kMicrosecond);

void inspect_whole_machine(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(inspect_machine());
}
BENCHMARK(inspect_whole_machine)->Unit(benchmark::kMillisecond);

void arrange_on_power7(benchmark::State& state) {
  const Topology topology = power7();
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(arrange(topology, topology.cpus(), {AffinityArrangement::io_same, 32}));
}
BENCHMARK(arrange_on_power7)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace millrace::machine
