// Builds a Topology with hwloc, from this machine, a file or a description.
#include "millrace/base/error/system_reason.h"
#include "millrace/base/text/in_quotes.h"
#include "millrace/machine/cpus/affinity_mask.h"
#include "millrace/machine/processor/hypervisor.h"
#include "millrace/machine/topology/topology.h"
#include "millrace/machine/units/unit_families.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <hwloc.h>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/utsname.h>

namespace millrace::machine {
namespace {

struct Destroy {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, Destroy>;

struct FreeBitmap {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

Result<HwlocTopology> make_empty() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return failure("hwloc cannot start: {}", system_reason(errno));
  // The modules of AMD family 15h are recognised by their shared instruction cache, which hwloc omits by
  // default. PUs outside this process's cpuset still belong to the machine.
  hwloc_topology_set_icache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  return HwlocTopology(topology);
}

CpuSet cpu_set_of(hwloc_const_bitmap_t bitmap) {
  CpuSet cpus;
  if (bitmap == nullptr) return cpus;
  for (int cpu = hwloc_bitmap_next(bitmap, -1); cpu >= 0 && cpu < CpuSet::limit;
       cpu = hwloc_bitmap_next(bitmap, cpu))
    cpus.insert(cpu);
  return cpus;
}

Bitmap bitmap_of(const CpuSet& cpus) {
  Bitmap bitmap(hwloc_bitmap_alloc());
  for (const int cpu : cpus)
    hwloc_bitmap_set(bitmap.get(), static_cast<unsigned>(cpu));
  return bitmap;
}

std::string info_of(hwloc_obj_t object, const char* name) {
  const char* value = hwloc_obj_get_info_by_name(object, name);
  return value == nullptr ? std::string() : std::string(value);
}

// All objects of a type, ordered by CPU. hwloc nests objects with equal CPU sets by type: a core whose
// sibling is offline is below its L1, but every other core is above the L1 of each PU. Objects of one type
// can therefore have several depths, and hwloc's own iteration by type returns none of them.
std::vector<hwloc_obj_t> objects_of(hwloc_topology_t topology, hwloc_obj_type_t type) {
  std::vector<hwloc_obj_t> objects;
  const auto add_depth = [&](int depth) {
    for (hwloc_obj_t object = nullptr;
         (object = hwloc_get_next_obj_by_depth(topology, depth, object)) != nullptr;)
      objects.push_back(object);
  };
  const int only_depth = hwloc_get_type_depth(topology, type);
  if (only_depth != HWLOC_TYPE_DEPTH_MULTIPLE) {
    if (only_depth != HWLOC_TYPE_DEPTH_UNKNOWN) add_depth(only_depth);
    return objects;
  }
  for (int depth = 0; depth < hwloc_topology_get_depth(topology); ++depth)
    if (hwloc_get_depth_type(topology, depth) == type) add_depth(depth);
  std::ranges::stable_sort(objects, {},
                           [](hwloc_obj_t object) { return hwloc_bitmap_first(object->cpuset); });
  return objects;
}

// Linux stores processor information at the packages, or at the machine if it cannot tell packages apart.
std::string processor_info(hwloc_topology_t topology, const char* name) {
  for (const hwloc_obj_t package : objects_of(topology, HWLOC_OBJ_PACKAGE))
    if (std::string value = info_of(package, name); !value.empty()) return value;
  return info_of(hwloc_get_root_obj(topology), name);
}

int number_in(const std::string& text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Cache cache_of(hwloc_obj_t object) {
  const hwloc_obj_attr_u::hwloc_cache_attr_s& attributes = object->attr->cache;
  Cache cache;
  cache.level = static_cast<int>(attributes.depth);
  cache.type = attributes.type == HWLOC_OBJ_CACHE_DATA          ? CacheType::data
               : attributes.type == HWLOC_OBJ_CACHE_INSTRUCTION ? CacheType::instruction
                                                                : CacheType::unified;
  cache.size_bytes = static_cast<std::int64_t>(attributes.size);
  cache.line_bytes = static_cast<int>(attributes.linesize);
  cache.cpus = cpu_set_of(object->cpuset);
  return cache;
}

std::vector<Cache> caches_of(hwloc_topology_t topology) {
  std::vector<Cache> caches;
  for (int type = HWLOC_OBJ_L1CACHE; type <= HWLOC_OBJ_L3ICACHE; ++type)
    for (const hwloc_obj_t object : objects_of(topology, static_cast<hwloc_obj_type_t>(type)))
      // A cache without a size is unknown to the source.
      if (object->attr->cache.size > 0) caches.push_back(cache_of(object));
  return caches;
}

// Whole cores. A PU outside every core becomes a core of its own.
std::vector<CpuSet> cores_of(hwloc_topology_t topology) {
  std::vector<CpuSet> cores;
  CpuSet rest;
  for (const hwloc_obj_t pu : objects_of(topology, HWLOC_OBJ_PU))
    rest.insert(static_cast<int>(pu->os_index));
  for (const hwloc_obj_t object : objects_of(topology, HWLOC_OBJ_CORE)) {
    const CpuSet core = cpu_set_of(object->cpuset) & rest;
    if (core.empty()) continue;
    rest -= core;
    cores.push_back(core);
  }
  for (const int cpu : rest)
    cores.push_back({cpu});
  return cores;
}

// hwloc orders core kinds by rising performance if it can. Kinds of unknown order are useless for decisions.
std::vector<CoreKind> core_kinds_of(hwloc_topology_t topology) {
  std::vector<CoreKind> kinds;
  const int count = hwloc_cpukinds_get_nr(topology, 0);
  for (int i = 0; i < count; ++i) {
    const Bitmap cpus(hwloc_bitmap_alloc());
    int efficiency = -1;
    unsigned info_count = 0;
    hwloc_info_s* infos = nullptr;
    if (hwloc_cpukinds_get_info(topology, static_cast<unsigned>(i), cpus.get(), &efficiency, &info_count,
                                &infos, 0) != 0 ||
        efficiency < 0)
      return {};
    CoreKind kind;
    kind.cpus = cpu_set_of(cpus.get());
    for (unsigned k = 0; k < info_count; ++k)
      if (std::strcmp(infos[k].name, "CoreType") == 0) kind.name = infos[k].value;
    kinds.push_back(std::move(kind));
  }
  return kinds;
}

struct Processor {
  std::string vendor;
  std::string model;
  int family_number = -1;
};

Processor processor_of(hwloc_topology_t topology) {
  Processor processor{.vendor = processor_info(topology, "CPUVendor"),
                      .model = processor_info(topology, "CPUModel"),
                      .family_number = number_in(processor_info(topology, "CPUFamilyNumber"))};
  // Arm processors have numbers instead of names.
  if (processor.vendor.empty()) processor.vendor = processor_info(topology, "CPUImplementer");
  if (const std::string part = processor_info(topology, "CPUPart"); processor.model.empty() && !part.empty())
    processor.model = "part " + part;
  return processor;
}

// Everything except the traits.
TopologyParts parts_of(hwloc_topology_t topology, TopologySource source) {
  TopologyParts parts;
  const hwloc_obj_t machine = hwloc_get_root_obj(topology);
  const Processor processor = processor_of(topology);
  parts.source = source;
  parts.architecture = info_of(machine, "Architecture");
  if (utsname system{}; parts.architecture.empty() && source == TopologySource::live && uname(&system) == 0)
    parts.architecture = system.machine;
  parts.hypervisor =
      hypervisor_of_firmware(info_of(machine, "DMISysVendor"), info_of(machine, "DMIProductName"));
  for (const hwloc_obj_t object : objects_of(topology, HWLOC_OBJ_PACKAGE))
    parts.packages.push_back({cpu_set_of(object->cpuset), processor.vendor, processor.model});
  for (const hwloc_obj_t object : objects_of(topology, HWLOC_OBJ_NUMANODE))
    parts.numa_nodes.push_back({static_cast<int>(object->os_index), cpu_set_of(object->cpuset),
                                static_cast<std::int64_t>(object->attr->numanode.local_memory)});
  parts.caches = caches_of(topology);
  parts.cores = cores_of(topology);
  parts.core_kinds = core_kinds_of(topology);
  return parts;
}

// Adds the traits, from this user's families.
Result<Topology> identified(hwloc_topology_t topology, TopologyParts parts) {
  const Processor processor = processor_of(topology);
  auto traits = UnitFamilies::identify_for_this_user(
      {parts.architecture, processor.vendor, processor.family_number, processor.model});
  if (!traits) return std::unexpected(traits.error());
  parts.traits = std::move(*traits);
  return Topology(std::move(parts));
}

}  // namespace

Result<Topology> Topology::live() {
  // Otherwise hwloc would retry with ever larger buffers and never return.
  if (mask_of_thread(0).empty())
    return failure(
        "cannot read this machine's topology: the kernel refuses sched_getaffinity: {}; allow that call",
        system_reason(errno));
  auto hwloc = make_empty();
  if (!hwloc) return std::unexpected(hwloc.error());
  const hwloc_topology_t topology = hwloc->get();
  if (hwloc_topology_load(topology) != 0)
    return failure("cannot read this machine's topology: {}", system_reason(errno));
  // The environment (HWLOC_XMLFILE, HWLOC_SYNTHETIC) can make hwloc describe another machine.
  if (hwloc_topology_is_thissystem(topology) == 0)
    return identified(topology, parts_of(topology, TopologySource::xml));

  TopologyParts parts = parts_of(topology, TopologySource::live);
  if (std::string name = detect_hypervisor(); !name.empty()) parts.hypervisor = std::move(name);
  return identified(topology, std::move(parts));
}

Result<Topology> Topology::from_xml(const std::string& path) {
  auto hwloc = make_empty();
  if (!hwloc) return std::unexpected(hwloc.error());
  const hwloc_topology_t topology = hwloc->get();
  errno = 0;
  if (hwloc_topology_set_xml(topology, path.c_str()) != 0) {
    if (errno == ENOENT || errno == EACCES) return usage_error("{}: {}", path, system_reason(errno));
    return usage_error("{}: not an hwloc XML file; write one with `lstopo machine.xml`", path);
  }
  if (hwloc_topology_load(topology) != 0)
    return usage_error("{}: damaged hwloc XML file; write it again with `lstopo machine.xml`", path);
  return identified(topology, parts_of(topology, TopologySource::xml));
}

Result<Topology> Topology::from_synthetic(const SyntheticMachine& machine) {
  return from_synthetic(machine, UnitFamilies::built_in());
}

Result<Topology> Topology::from_synthetic(const SyntheticMachine& machine, const UnitFamilies& families) {
  const UnitTraits* const traits = families.find(machine.family);
  if (traits == nullptr)
    return usage_error("no processor family {}; `millrace machine --families` lists them",
                       in_quotes(machine.family));
  auto hwloc = make_empty();
  if (!hwloc) return std::unexpected(hwloc.error());
  const hwloc_topology_t topology = hwloc->get();
  if (hwloc_topology_set_synthetic(topology, machine.description.c_str()) != 0 ||
      hwloc_topology_load(topology) != 0)
    return usage_error(
        "\"{}\" does not describe a machine; write something like \"pack:1 l3:1 l2:4 core:1 pu:2\"",
        machine.description);
  if (!machine.absent.empty()) {
    const Bitmap kept = bitmap_of(cpu_set_of(hwloc_topology_get_topology_cpuset(topology)) - machine.absent);
    if (hwloc_topology_restrict(topology, kept.get(), 0) != 0)
      return usage_error("\"{}\" without CPU {} leaves no machine", machine.description,
                         machine.absent.to_string());
  }
  TopologyParts parts = parts_of(topology, TopologySource::synthetic);
  parts.traits = *traits;
  for (const CpuSet& kind : machine.core_kinds)
    parts.core_kinds.push_back({"", kind});
  return Topology(std::move(parts));
}

}  // namespace millrace::machine
