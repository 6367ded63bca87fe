#include "millrace/machine/report/machine_report.h"

#include <utility>

#include <sys/utsname.h>

namespace millrace::machine {
namespace {

std::string kernel_version() {
  utsname system{};
  if (uname(&system) != 0) return "unknown";
  return std::string(system.sysname) + " " + system.release;
}

const char* text_of(CacheType type) {
  switch (type) {
  case CacheType::data:
    return "data";
  case CacheType::instruction:
    return "instruction";
  case CacheType::unified:
    return "unified";
  }
  return "";
}

const char* text_of(TopologySource source) {
  switch (source) {
  case TopologySource::live:
    return "live";
  case TopologySource::xml:
    return "xml";
  case TopologySource::synthetic:
    return "synthetic";
  }
  return "";
}

nlohmann::json lists_of(const std::vector<CpuSet>& sets) {
  auto lists = nlohmann::json::array();
  for (const CpuSet& set : sets)
    lists.push_back(set.to_string());
  return lists;
}

nlohmann::json json_of(const UsableCpus& usable) {
  return {
      {"cpus", usable.cpus.to_string()},
      {"count", usable.cpus.count()},
      {"quota", usable.quota ? nlohmann::json(*usable.quota) : nlohmann::json()},
      {"worker_limit", usable.worker_limit},
      {"reasons", usable.reasons},
  };
}

nlohmann::json json_of(const UnitSharing& sharing) {
  return {{"shared_by", name_of(sharing.shared_by)},
          {"units", sharing.units > 0 ? nlohmann::json(sharing.units) : nlohmann::json()}};
}

nlohmann::json json_of(const Topology& topology) {
  auto packages = nlohmann::json::array();
  for (const Package& package : topology.packages())
    packages.push_back(
        {{"cpus", package.cpus.to_string()}, {"vendor", package.vendor}, {"model", package.model}});
  auto nodes = nlohmann::json::array();
  for (const NumaNode& node : topology.numa_nodes())
    nodes.push_back(
        {{"number", node.number}, {"cpus", node.cpus.to_string()}, {"memory_bytes", node.memory_bytes}});
  auto caches = nlohmann::json::array();
  for (const Cache& cache : topology.caches())
    caches.push_back(
        {{"level", cache.level},
         {"type", text_of(cache.type)},
         {"size_bytes", cache.size_bytes},
         {"line_bytes", cache.line_bytes > 0 ? nlohmann::json(cache.line_bytes) : nlohmann::json()},
         {"cpus", cache.cpus.to_string()}});
  auto kinds = nlohmann::json::array();
  for (const CoreKind& kind : topology.core_kinds())
    kinds.push_back({{"name", kind.name}, {"cpus", kind.cpus.to_string()}});
  return {
      {"architecture", topology.architecture()},
      {"family", topology.traits().title},
      {"unit_traits", to_json(topology.traits())},
      {"cpus", topology.cpus().to_string()},
      {"packages", packages},
      {"numa_nodes", nodes},
      {"caches", caches},
      {"cores", lists_of(topology.cores())},
      {"core_kinds", kinds},
      {"fpu_groups", lists_of(topology.fpu_groups())},
  };
}

nlohmann::json json_of(const TopologyTrust& trust) {
  return {
      {"source", text_of(trust.source)},
      {"hypervisor", trust.hypervisor.empty() ? nlohmann::json() : nlohmann::json(trust.hypervisor)},
      {"smt_may_be_hidden", trust.smt_may_be_hidden},
      {"caches_guessed", trust.caches_guessed},
      {"caches_implausible", trust.caches_implausible},
      {"measured", trust.measured ? nlohmann::json{{"stable_probes", trust.measured->probes},
                                                   {"agrees", trust.measured->agrees}}
                                  : nlohmann::json()},
      {"fpu_groups_reliable", trust.fpu_groups_reliable()},
      {"caches_reliable", trust.caches_reliable()},
      {"sentences", trust.sentences()},
  };
}

}  // namespace

Result<MachineReport> inspect_machine() {
  auto topology = Topology::live();
  if (!topology) return std::unexpected(topology.error());
  auto usable = usable_cpus(topology->cpus());
  if (!usable) return std::unexpected(usable.error());
  return MachineReport{std::move(*topology), std::move(*usable), best_isa(), probe_hardware_counters(),
                       kernel_version()};
}

nlohmann::json to_json(const MachineReport& report) {
  auto isas = nlohmann::json::array();
  for (const Isa isa : all_isas())
    if (isa <= report.isa) isas.push_back(name_of(isa));
  return {
      {"usable", json_of(report.usable)},
      {"topology", json_of(report.topology)},
      {"trust", json_of(report.topology.trust())},
      {"instruction_sets", isas},
      {"hardware_counters",
       {{"available", report.counters.available}, {"explanation", report.counters.explanation}}},
      {"kernel", report.kernel},
  };
}

nlohmann::json to_json(const UnitTraits& traits) {
  auto usage = nlohmann::json::object();
  for (const auto& [unit, formula] : traits.counters.usage)
    usage[std::string(name_of(unit))] = formula.text();
  auto events = nlohmann::json::object();
  for (const auto& [name, event] : traits.counters.events)
    events[name] = event;
  return {{"family", traits.family},
          {"title", traits.title},
          {"from", traits.from},
          {"int", json_of(traits.integer)},
          {"fp", json_of(traits.fp)},
          {"simd", json_of(traits.simd)},
          {"counters", {{"interval", traits.counters.interval_s}, {"events", events}, {"usage", usage}}}};
}

}  // namespace millrace::machine
