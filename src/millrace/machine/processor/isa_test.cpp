#include "millrace/machine/processor/isa.h"

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace millrace::machine {
namespace {

// The kernel's feature flags of the first processor; empty if it lists none.
std::set<std::string> kernel_flags() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpuinfo, line)) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

TEST(Isa, BestLevelAgreesWithTheKernelsFlags) {
  const auto flags = kernel_flags();
  if (flags.empty()) GTEST_SKIP() << "/proc/cpuinfo lists no flags";
  const auto has = [&](std::initializer_list<const char*> names) {
    return std::ranges::all_of(names, [&](const char* name) { return flags.contains(name); });
  };
  Isa expected = Isa::baseline;
  if (has({"sse4_1"})) expected = Isa::sse41;
  if (expected == Isa::sse41 && has({"avx2", "fma", "f16c"})) expected = Isa::avx2;
  if (expected == Isa::avx2 && has({"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}))
    expected = Isa::avx512;
  EXPECT_EQ(best_isa(), expected);
}

TEST(Isa, EveryLevelUpToTheBestCanRunAndNoneAbove) {
  EXPECT_TRUE(can_run(Isa::baseline));
  for (const Isa isa : all_isas())
    EXPECT_EQ(can_run(isa), isa <= best_isa());
}

TEST(Isa, NamesReadBack) {
  for (const Isa isa : all_isas())
    EXPECT_EQ(parse_isa(name_of(isa)), isa);
  const auto unknown = parse_isa("avx1024");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::usage);
  EXPECT_NE(unknown.error().message.find("avx1024"), std::string::npos);
}

}  // namespace
}  // namespace millrace::machine
