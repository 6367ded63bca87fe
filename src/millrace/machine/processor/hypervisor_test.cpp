#include "millrace/machine/processor/hypervisor.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace millrace::machine {
namespace {

TEST(Hypervisor, IsKnownByTheProcessorsSignature) {
  using namespace std::string_view_literals;
  EXPECT_EQ(hypervisor_of_signature("KVMKVMKVM\0\0\0"sv), "KVM");
  EXPECT_EQ(hypervisor_of_signature("Microsoft Hv"), "Hyper-V");
  EXPECT_EQ(hypervisor_of_signature("XenVMMXenVMM"), "Xen");
  EXPECT_EQ(hypervisor_of_signature("something el"), "unknown hypervisor");
}

TEST(Hypervisor, IsKnownByTheFirmwaresStrings) {
  EXPECT_EQ(hypervisor_of_firmware("QEMU", "Standard PC (Q35 + ICH9, 2009)"), "QEMU");
  EXPECT_EQ(hypervisor_of_firmware("Microsoft Corporation", "Virtual Machine"), "Hyper-V");
  EXPECT_EQ(hypervisor_of_firmware("Amazon EC2", "m5.large"), "Amazon EC2");
}

TEST(Hypervisor, PhysicalMachinesHaveNone) {
  EXPECT_EQ(hypervisor_of_firmware("Amazon EC2", "m5.metal"), "");
  EXPECT_EQ(hypervisor_of_firmware("Microsoft Corporation", "Surface Laptop 4"), "");
  EXPECT_EQ(hypervisor_of_firmware("Dell Inc.", "PowerEdge R640"), "");
  EXPECT_EQ(hypervisor_of_firmware("", ""), "");
}

// The kernel derives its flag from the same CPUID bit, so both must agree. x86 only; other architectures have
// no such flag.
TEST(Hypervisor, AgreesWithTheKernelOnTheLiveMachine) {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpuinfo, line))
    if (line.starts_with("flags")) {
      EXPECT_EQ(line.find(" hypervisor") != std::string::npos, !detect_hypervisor("/nonexistent").empty());
      return;
    }
  GTEST_SKIP() << "/proc/cpuinfo lists no flags";
}

}  // namespace
}  // namespace millrace::machine
