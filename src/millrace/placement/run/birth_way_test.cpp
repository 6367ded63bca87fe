#include "millrace/placement/run/birth_way.h"

#include <string_view>
#include <tuple>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

using Case = std::tuple<ProgramFile, std::string_view, BirthWay>;  // program, no_tracing, expected way

class ChosenWay : public testing::TestWithParam<Case> {};

TEST_P(ChosenWay, IsTheFirstThatWorksWithAReasonWhereItIsNotTheBest) {
  const auto& [program, no_tracing, way] = GetParam();
  const BirthChoice choice = choose_birth_way(BirthWay::any, &program, no_tracing);
  EXPECT_EQ(choice.way, way);
  EXPECT_EQ(choice.reason.empty(), way == BirthWay::ptrace);
  for (const BirthWay asked : {BirthWay::ptrace, BirthWay::polling})
    EXPECT_EQ(choose_birth_way(asked, &program, no_tracing).way, asked);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, ChosenWay,
    testing::Values(Case{{.dynamic = true, .glibc = true}, "", BirthWay::ptrace},
                    Case{{}, "", BirthWay::ptrace},
                    Case{{.dynamic = true, .glibc = true, .traces = true}, "", BirthWay::polling},
                    Case{{.dynamic = true, .glibc = true, .sanitized = true}, "", BirthWay::polling},
                    Case{{.changes_user = true}, "", BirthWay::polling},
                    Case{{.dynamic = true, .glibc = true}, "traced", BirthWay::polling},
                    Case{{}, "traced", BirthWay::polling}, Case{{.dynamic = true}, "", BirthWay::ptrace},
                    Case{{.dynamic = true}, "traced", BirthWay::polling},
                    Case{{.dynamic = true, .traces = true}, "", BirthWay::polling}));

}  // namespace
}  // namespace millrace::placement
