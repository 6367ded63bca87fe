#include "millrace/machine/report/processor_key.h"

#include <gtest/gtest.h>

namespace millrace::machine {
namespace {

std::string key_of(const std::string& description) {
  return processor_key(*Topology::from_synthetic({.description = description}), Isa::avx2,
                       "family 6 model 1 stepping 2");
}

// AMD's and Intel's documented fields: 0x00A20F12 is family 25, model 33, stepping 2 (Ryzen 5000). 0x000906EA
// is family 6, model 158, stepping 10 (Coffee Lake).
TEST(ProcessorKey, SignaturesAreReadAsTheirMakersDocumentThem) {
  EXPECT_EQ(signature_text(0x00A20F12), "family 25 model 33 stepping 2");
  EXPECT_EQ(signature_text(0x000906EA), "family 6 model 158 stepping 10");
}

TEST(ProcessorKey, MachinesThatDifferInWhatCountsHaveOtherKeys) {
  const std::string key = key_of("pack:1 l3:1(size=32MB) l2:4(size=512KB) l1d:1(size=32KB) core:1 pu:2");
  EXPECT_EQ(key, key_of("pack:1 l3:1(size=32MB) l2:4(size=512KB) l1d:1(size=32KB) core:1 pu:2"));
  EXPECT_NE(key, key_of("pack:1 l3:1(size=16MB) l2:4(size=512KB) l1d:1(size=32KB) core:1 pu:2"));
  EXPECT_NE(key, key_of("pack:1 l3:1(size=32MB) l2:8(size=512KB) l1d:1(size=32KB) core:1 pu:1"));
  EXPECT_NE(key, key_of("pack:1 l3:2(size=32MB) l2:2(size=512KB) l1d:1(size=32KB) core:1 pu:2"));
  EXPECT_EQ(key.find('\n'), std::string::npos);
}

TEST(ProcessorKey, TheMachineAtHandHasOne) {
  const auto machine = inspect_machine();
  ASSERT_TRUE(machine);
  EXPECT_EQ(processor_key(*machine), processor_key(*machine));
  EXPECT_FALSE(processor_key(*machine).empty());
}

}  // namespace
}  // namespace millrace::machine
