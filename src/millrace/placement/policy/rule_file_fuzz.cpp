// The rule parser must survive any text, and rules that it accepts must be usable.
#include "millrace/machine/topology/test_machines.h"
#include "millrace/placement/policy/rule_file.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  const auto rules = placement::parse_rules({reinterpret_cast<const char*>(data), size});
  if (!rules) return 0;
  static const machine::Topology topology = machine::hybrid();
  const placement::MachineState machine_state{.topology = &topology, .allowed = topology.cpus(), .load = {}};
  const placement::ThreadView threads[] = {{0, 0, true, "main"}, {1, 0, false, "x264"}};
  for (const auto& plan : placement::rule_policy (*rules)(machine_state, threads))
    if (!machine_state.allowed.contains_all(plan.mask)) std::abort();
  return 0;
}
