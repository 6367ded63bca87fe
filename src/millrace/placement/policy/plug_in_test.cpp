#include "millrace/machine/topology/test_machines.h"
#include "millrace/placement/policy/plug_in.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;
using testing::HasSubstr;

TEST(PlugIn, DecidesFromWhatIsAllowed) {
  const auto policy = load_plug_in(MILLRACE_TESTING_PROGRAMS "/last_first_policy.so");
  ASSERT_TRUE(policy) << policy.error().message;
  const auto topology = machine::hybrid();
  const MachineState machine_state{.topology = &topology, .allowed = {0, 4, 8}, .load = {}};
  const std::vector<ThreadView> threads = {
      {0, 0, true, "main"}, {1, 0, false, ""}, {2, 0, false, ""}, {3, 0, false, ""}, {4, 0, false, ""}};
  const auto plans = (*policy)(machine_state, threads);
  ASSERT_EQ(plans.size(), 5U);
  EXPECT_EQ(plans[0], ThreadPlan());
  EXPECT_EQ(plans[1].mask, CpuSet{8});
  EXPECT_EQ(plans[2].mask, CpuSet{4});
  EXPECT_EQ(plans[3].mask, CpuSet{0});
  EXPECT_EQ(plans[4].mask, CpuSet{8});
}

TEST(PlugIn, OutlivesTheObjectItWasLoadedInto) {
  Policy copy;
  {
    const auto policy = load_plug_in(MILLRACE_TESTING_PROGRAMS "/last_first_policy.so");
    ASSERT_TRUE(policy);
    copy = *policy;
  }
  const auto topology = machine::two_pus();
  const MachineState machine_state{.topology = &topology, .allowed = {0, 1}, .load = {}};
  EXPECT_EQ(copy(machine_state, std::vector<ThreadView>{{0, 0, false, ""}})[0].mask, CpuSet{1});
}

TEST(PlugIn, WhatIsNoneIsRefusedByName) {
  const auto missing = load_plug_in("/nonexistent/policy.so");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::usage);
  EXPECT_THAT(missing.error().message, HasSubstr("/nonexistent/policy.so"));
  const auto other = load_plug_in("libm.so.6");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, HasSubstr("millrace_place()"));
}

}  // namespace
}  // namespace millrace::placement
