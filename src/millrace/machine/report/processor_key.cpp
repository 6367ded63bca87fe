#include "millrace/machine/report/processor_key.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace millrace::machine {
namespace {

std::string cache_size_text(std::int64_t bytes) {
  if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) return fmt::format("{}M", bytes >> 20);
  return fmt::format("{}K", bytes >> 10);
}

}  // namespace

std::string signature_text(unsigned eax) {
  const unsigned base_family = (eax >> 8U) & 0xFU;
  const unsigned base_model = (eax >> 4U) & 0xFU;
  const unsigned family = base_family == 0xF ? base_family + ((eax >> 20U) & 0xFFU) : base_family;
  const bool extended = base_family == 0xF || base_family == 6;
  const unsigned model = extended ? (((eax >> 16U) & 0xFU) << 4U) + base_model : base_model;
  return fmt::format("family {} model {} stepping {}", family, model, eax & 0xFU);
}

std::string processor_signature() {
#if defined(__x86_64__) || defined(__i386__)
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) return signature_text(eax);
#endif
  return "";
}

std::string processor_key(const Topology& topology, Isa isa, const std::string& signature) {
  const auto& packages = topology.packages();
  std::string text =
      packages.empty() || packages.front().model.empty() ? topology.architecture() : packages.front().model;
  if (!signature.empty()) text += ", " + signature;
  // One entry for all equal caches.
  std::map<std::pair<int, std::string>, int> caches;
  for (const Cache& cache : topology.caches())
    if (cache.type != CacheType::instruction)
      ++caches[{cache.level, fmt::format("L{} {}/{}", cache.level, cache_size_text(cache.size_bytes),
                                         cache.cpus.count())}];
  for (const auto& [cache, count] : caches)
    text += fmt::format(", {}x {}", count, cache.second);
  text += fmt::format(", {} PUs in {} cores", topology.cpus().count(), topology.cores().size());
  if (!topology.trust().hypervisor.empty()) text += ", " + topology.trust().hypervisor;
  return text + fmt::format(", {}", name_of(isa));
}

std::string processor_key(const MachineReport& machine) {
  return processor_key(machine.topology, machine.isa, processor_signature());
}

}  // namespace millrace::machine
