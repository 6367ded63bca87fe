#include "millrace/placement/run/birth_way.h"

#include <tuple>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

using Case = std::tuple<ProgramFile, bool, BirthWay>;  // program, whether millrace is traced, the way

class ChosenWay : public testing::TestWithParam<Case> {};

TEST_P(ChosenWay, IsTheFirstThatWorksWithAReasonWhereItIsNotTheBest) {
  const auto& [program, traced, way] = GetParam();
  const BirthChoice choice = choose_birth_way(BirthWay::any, &program, traced);
  EXPECT_EQ(choice.way, way);
  EXPECT_EQ(choice.reason.empty(), way == BirthWay::ptrace);
  for (const BirthWay asked : {BirthWay::ptrace, BirthWay::shim, BirthWay::polling})
    if (asked != BirthWay::shim || !program.sanitized) {
      EXPECT_EQ(choose_birth_way(asked, &program, traced).way, asked);
    }
}

INSTANTIATE_TEST_SUITE_P(Programs, ChosenWay,
                         testing::Values(Case{{.dynamic = true}, false, BirthWay::ptrace},
                                         Case{{}, false, BirthWay::ptrace},
                                         Case{{.dynamic = true, .traces = true}, false, BirthWay::shim},
                                         Case{{.dynamic = true, .sanitized = true}, false, BirthWay::polling},
                                         Case{{.changes_user = true}, false, BirthWay::polling},
                                         Case{{.dynamic = true}, true, BirthWay::shim},
                                         Case{{}, true, BirthWay::polling}));

TEST(ChosenWay, NoShimIsLoadedBeforeASanitizer) {
  const ProgramFile program{.dynamic = true, .sanitized = true};
  const BirthChoice choice = choose_birth_way(BirthWay::shim, &program, false);
  EXPECT_EQ(choice.way, BirthWay::polling);
  EXPECT_FALSE(choice.reason.empty());
}

}  // namespace
}  // namespace millrace::placement
