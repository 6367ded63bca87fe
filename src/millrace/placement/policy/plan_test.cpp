#include "millrace/placement/policy/plan.h"

#include <vector>

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

TEST(Plan, IsReadBackFromItsTextWhateverItHolds) {
  using machine::SchedulingClass;
  std::vector<MaskPolicy> all(all_mask_policies.begin(), all_mask_policies.end());
  all.push_back(MaskPolicy::units);
  for (const MaskPolicy masks : all)
    for (const auto scheduling_class :
         {std::optional<SchedulingClass>(), std::optional(SchedulingClass::batch),
          std::optional(SchedulingClass::rr)})
      for (const auto slice :
           {std::optional<std::int64_t>(), std::optional<std::int64_t>(100'000),
            std::optional<std::int64_t>(2'800'000), std::optional<std::int64_t>(100'000'000)}) {
        const Plan plan{masks, scheduling_class, slice};
        EXPECT_EQ(parse_plan(to_string(plan)), plan) << to_string(plan);
      }
}

TEST(Plan, ByUnitIsNoPolicyThatAUserNames) { EXPECT_EQ(parse_mask_policy("units"), std::nullopt); }

TEST(Plan, TextOfNothingIsUntouched) {
  EXPECT_EQ(to_string(Plan()), "untouched");
  EXPECT_EQ(parse_plan("untouched"), Plan());
}

TEST(Plan, OtherTextIsNone) {
  for (const auto* text :
       {"", "batch", "class", "class ", "class gone", "masks none", "slice 0 ms", "slice -1 ms",
        "slice nan ms", "slice 200 ms", "slice 3", "class batch,", "class batch, ", "untouched "})
    EXPECT_EQ(parse_plan(text), std::nullopt) << text;
}

}  // namespace
}  // namespace millrace::placement
