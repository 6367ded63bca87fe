#include "millrace/machine/topology/topology_trust.h"

#include <fmt/format.h>

namespace millrace::machine {

std::vector<std::string> TopologyTrust::sentences() const {
  std::vector<std::string> said;
  if (measured && measured->probes == 0)
    said.emplace_back("Measured: which PUs share execution units is unclear.");
  else if (measured)
    said.push_back(fmt::format("Measured, stable for {} probe{}: PUs share execution units {}.",
                               measured->probes, measured->probes == 1 ? "" : "s",
                               measured->agrees ? "as reported" : "otherwise than reported"));
  if (source == TopologySource::xml)
    said.emplace_back("The topology was read from a file, not from this machine.");
  if (source == TopologySource::synthetic) said.emplace_back("The topology is made up from a description.");
  if (!hypervisor.empty())
    said.push_back(
        fmt::format("This is a virtual machine ({}): which PUs share a core, a cache or a NUMA node is "
                    "what the hypervisor chooses to tell, and it may move PUs at any time.",
                    hypervisor));
  if (smt_may_be_hidden)
    said.emplace_back(
        "Every core shows one PU: SMT may be hidden, so that two PUs may in truth share a core and "
        "its floating-point units.");
  if (caches_guessed)
    said.emplace_back("Some caches are not reported: typical sizes are assumed in their place.");
  if (caches_implausible)
    said.emplace_back("A cache is reported to span several packages, which cannot be: cache sharing is not "
                      "to be relied upon.");
  if (said.empty())
    said.emplace_back("Reported by the operating system on bare metal; nothing speaks against it.");
  return said;
}

}  // namespace millrace::machine
