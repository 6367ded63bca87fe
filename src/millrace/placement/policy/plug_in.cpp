#include "millrace/placement/policy/plug_in.h"

#include "millrace/placement/policy/millrace_policy.h"

#include <algorithm>
#include <dlfcn.h>
#include <memory>

namespace millrace::placement {
namespace {

using PlaceFunction = decltype(&millrace_place);
using VersionFunction = decltype(&millrace_policy_version);

template <class Function> Function function_of(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

// Index of the first of `sets` that contains `cpu`.
std::int32_t index_of(const std::vector<machine::CpuSet>& sets, int cpu) {
  const auto found = std::ranges::find_if(sets, [cpu](const auto& set) { return set.contains(cpu); });
  return static_cast<std::int32_t>(found - sets.begin());
}

std::vector<millrace_cpu> cpus_of(const MachineState& machine_state) {
  const machine::Topology& topology = *machine_state.topology;
  std::vector<machine::CpuSet> llcs;
  for (const int cpu : topology.cpus()) {
    const machine::Cache* cache = topology.last_level_cache_of(cpu);
    if (cache != nullptr && std::ranges::find(llcs, cache->cpus) == llcs.end()) llcs.push_back(cache->cpus);
  }
  std::vector<machine::CpuSet> nodes;
  for (const machine::NumaNode& node : topology.numa_nodes())
    nodes.push_back(node.cpus);
  std::vector<millrace_cpu> cpus;
  for (const int cpu : machine_state.allowed) {
    const auto at = static_cast<std::size_t>(cpu);
    cpus.push_back({.number = cpu,
                    .core = index_of(topology.cores(), cpu),
                    .llc = index_of(llcs, cpu),
                    .node = index_of(nodes, cpu),
                    .kind = topology.core_kind_of(cpu),
                    .load = at < machine_state.load.size() ? machine_state.load[at] : 0});
  }
  return cpus;
}

std::optional<machine::SchedulingClass> class_of(std::int32_t number) {
  switch (number) {
  case MILLRACE_CLASS_OTHER:
    return machine::SchedulingClass::other;
  case MILLRACE_CLASS_FIFO:
    return machine::SchedulingClass::fifo;
  case MILLRACE_CLASS_RR:
    return machine::SchedulingClass::rr;
  case MILLRACE_CLASS_BATCH:
    return machine::SchedulingClass::batch;
  default:
    return std::nullopt;
  }
}

std::vector<ThreadPlan> ask(PlaceFunction place, const MachineState& machine_state,
                            std::span<const ThreadView> views) {
  const std::vector<millrace_cpu> cpus = cpus_of(machine_state);
  std::vector<millrace_thread> threads;
  std::vector<unsigned char> chosen(cpus.size() * views.size(), 0);
  std::vector<millrace_choice> choices;
  for (const ThreadView& view : views) {
    threads.push_back({view.number, view.process, view.main ? 1 : 0, view.name.c_str()});
    choices.push_back({chosen.data() + cpus.size() * choices.size(), MILLRACE_CLASS_KEEP, 0});
  }
  std::vector<ThreadPlan> plans(views.size());
  if (place(cpus.data(), cpus.size(), threads.data(), threads.size(), choices.data()) != 0) return plans;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    for (std::size_t cpu = 0; cpu < cpus.size(); ++cpu)
      if (choices[i].cpus[cpu] != 0) plans[i].mask.insert(cpus[cpu].number);
    plans[i].scheduling_class = class_of(choices[i].scheduling_class);
    if (choices[i].slice_ns > 0) plans[i].slice_ns = choices[i].slice_ns;
  }
  return plans;
}

}  // namespace

Result<Policy> load_plug_in(const std::string& path) {
  void* opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    const char* reason = dlerror();  // NOLINT(concurrency-mt-unsafe): the state is per thread
    return usage_error("the policy '{}' cannot be loaded: {}", path, reason);
  }
  const std::shared_ptr<void> library(opened, [](void* handle) { dlclose(handle); });
  const auto place = function_of<PlaceFunction>(opened, "millrace_place");
  const auto version = function_of<VersionFunction>(opened, "millrace_policy_version");
  if (place == nullptr || version == nullptr)
    return usage_error(
        "the policy '{}' lacks millrace_place() or millrace_policy_version(); see docs/exec.md", path);
  if (version() != MILLRACE_POLICY_VERSION)
    return usage_error("the policy '{}' is of version {}, not {}; build it again", path, version(),
                       MILLRACE_POLICY_VERSION);
  return Policy([library, place](const MachineState& machine_state, std::span<const ThreadView> threads) {
    return ask(place, machine_state, threads);
  });
}

}  // namespace millrace::placement
