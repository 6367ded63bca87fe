// Whether this is a virtual machine, and whose.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace millrace::machine {

// The hypervisor that the processor itself (x86: CPUID) or files below `root` (Xen, KVM on POWER and ARM,
// PowerVM) tell of; "" when there is no sign of one.
[[nodiscard]] std::string detect_hypervisor(const std::filesystem::path& root = "/");

// The name behind the twelve bytes of CPUID leaf 0x40000000; "unknown hypervisor" when nobody knows them.
[[nodiscard]] std::string hypervisor_of_signature(std::string_view signature);

// The name behind the firmware's vendor and product strings (DMI); "" for a physical machine.
[[nodiscard]] std::string hypervisor_of_firmware(std::string_view vendor, std::string_view product);

}  // namespace millrace::machine
