#include "millrace/machine/processor/processor_family.h"

#include <gtest/gtest.h>

namespace millrace::machine {
namespace {

struct Known {
  ProcessorIdentity identity;
  ProcessorFamily family;
};

class KnownProcessor : public testing::TestWithParam<Known> {};

TEST_P(KnownProcessor, IsIdentified) {
  EXPECT_EQ(identify_processor(GetParam().identity), GetParam().family);
}

INSTANTIATE_TEST_SUITE_P(
    Processors, KnownProcessor,
    testing::Values(
        Known{{"x86_64", "AuthenticAMD", 21, "AMD FX(tm)-8150 Eight-Core Processor"},
              ProcessorFamily::amd_family15h},
        Known{{"x86_64", "AuthenticAMD", 25, "AMD EPYC"}, ProcessorFamily::x86},
        // Intel's family 15 is NetBurst, AMD's family 0Fh the first Opterons: neither is family 15h.
        Known{{"x86_64", "GenuineIntel", 15, "Intel(R) Pentium(R) 4"}, ProcessorFamily::x86},
        Known{{"x86_64", "GenuineIntel", 21, ""}, ProcessorFamily::x86},
        Known{{"x86_64", "AuthenticAMD", 15, "AMD Opteron(tm)"}, ProcessorFamily::x86},
        Known{{"x86_64", "", -1, ""}, ProcessorFamily::x86},
        Known{{"ppc64", "", -1, "POWER7 (architected), altivec supported"}, ProcessorFamily::power7},
        Known{{"ppc64", "", -1, "POWER7+ (raw), altivec supported"}, ProcessorFamily::power7},
        Known{{"ppc64le", "", -1, "POWER9, altivec supported"}, ProcessorFamily::other},
        Known{{"aarch64", "", -1, ""}, ProcessorFamily::other}, Known{{}, ProcessorFamily::other}));

TEST(ProcessorFamilyTable, HasAnEntryForEveryFamily) {
  for (const ProcessorFamily family : {ProcessorFamily::other, ProcessorFamily::x86,
                                       ProcessorFamily::amd_family15h, ProcessorFamily::power7}) {
    EXPECT_EQ(traits_of(family).family, family);
    EXPECT_FALSE(traits_of(family).explanation.empty());
  }
  EXPECT_EQ(traits_of(ProcessorFamily::amd_family15h).fpu_sharing, FpuSharing::module);
}

}  // namespace
}  // namespace millrace::machine
