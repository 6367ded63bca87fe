#include "millrace/machine/processor/hypervisor.h"

#include "millrace/base/file/system_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace millrace::machine {
namespace {

using Entry = std::pair<std::string_view, std::string_view>;

constexpr std::array signatures{
    Entry{"KVMKVMKVM", "KVM"},       Entry{"Linux KVM Hv", "KVM"},   Entry{"Microsoft Hv", "Hyper-V"},
    Entry{"VMwareVMware", "VMware"}, Entry{"XenVMMXenVMM", "Xen"},   Entry{"VBoxVBoxVBox", "VirtualBox"},
    Entry{"TCGTCGTCGTCG", "QEMU"},   Entry{"bhyve bhyve ", "bhyve"}, Entry{" lrpepyh  vr", "Parallels"},
    Entry{"ACRNACRNACRN", "ACRN"},   Entry{"QNXQVMBSQG", "QNX"},
};

constexpr std::array firmware_vendors{
    Entry{"QEMU", "QEMU"}, Entry{"VMware", "VMware"},       Entry{"innotek", "VirtualBox"},
    Entry{"Xen", "Xen"},   Entry{"Parallels", "Parallels"}, Entry{"BHYVE", "bhyve"},
};

// These vendors also make physical machines, so only the product name counts.
constexpr std::array firmware_products{
    Entry{"Virtual Machine", "Hyper-V"},
    Entry{"Google Compute Engine", "KVM"},
    Entry{"KVM", "KVM"},
    Entry{"VirtualBox", "VirtualBox"},
    Entry{"OpenStack", "KVM"},
};

#if defined(__x86_64__) || defined(__i386__)
std::string hypervisor_of_cpuid() {
  constexpr unsigned hypervisor_present = 1U << 31;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & hypervisor_present) == 0) return {};
  __cpuid(0x40000000, eax, ebx, ecx, edx);
  std::array<char, 12> signature{};
  std::memcpy(signature.data(), &ebx, 4);
  std::memcpy(signature.data() + 4, &ecx, 4);
  std::memcpy(signature.data() + 8, &edx, 4);
  return hypervisor_of_signature({signature.data(), signature.size()});
}
#else
std::string hypervisor_of_cpuid() { return {}; }
#endif

}  // namespace

std::string hypervisor_of_signature(std::string_view signature) {
  const auto known = std::ranges::find_if(
      signatures, [&](const Entry& entry) { return signature.starts_with(entry.first); });
  return std::string(known == signatures.end() ? "unknown hypervisor" : known->second);
}

std::string hypervisor_of_firmware(std::string_view vendor, std::string_view product) {
  for (const auto& [start, name] : firmware_vendors)
    if (vendor.starts_with(start)) return std::string(name);
  for (const auto& [part, name] : firmware_products)
    if (product.find(part) != std::string_view::npos) return std::string(name);
  if (vendor.starts_with("Amazon EC2") && product.find("metal") == std::string_view::npos)
    return "Amazon EC2";
  return {};
}

std::string detect_hypervisor(const std::filesystem::path& root) {
  if (std::string name = hypervisor_of_cpuid(); !name.empty()) return name;
  const auto text_of = [&](const char* file) { return read_system_file(root / file).value_or(""); };
  if (text_of("sys/hypervisor/type").starts_with("xen")) return "Xen";
  if (text_of("proc/device-tree/hypervisor/compatible").find("kvm") != std::string::npos) return "KVM";
  if (!text_of("proc/device-tree/ibm,partition-name").empty()) return "PowerVM";
  return {};
}

}  // namespace millrace::machine
