// Detects whether this is a virtual machine, and its hypervisor.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace millrace::machine {

// The hypervisor according to CPUID (x86) or files below `root` (Xen, KVM on POWER and ARM, PowerVM). "" if
// there is no sign of one.
[[nodiscard]] std::string detect_hypervisor(const std::filesystem::path& root = "/");

// The hypervisor for the twelve bytes of CPUID leaf 0x40000000; "unknown hypervisor" if they are not known.
[[nodiscard]] std::string hypervisor_of_signature(std::string_view signature);

// The hypervisor for the firmware's vendor and product strings (DMI); "" for a physical machine.
[[nodiscard]] std::string hypervisor_of_firmware(std::string_view vendor, std::string_view product);

}  // namespace millrace::machine
