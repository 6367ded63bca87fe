#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/machine/topology/test_machines.h"
#include "millrace/placement/policy/rule_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace millrace::placement {
namespace {

using machine::CpuSet;
using machine::SchedulingClass;
using testing::HasSubstr;

TEST(RuleFile, FirstRuleThatMatchesGives) {
  const auto rules = parse_rules("# an encoder\n"
                                 "main cpus=0        # the one that reads\n"
                                 "\n"
                                 "name=x264* born=2-3 cpus=2-3,9 class=batch\n"
                                 "born=4- slice=10\n"
                                 "any class=rr");
  ASSERT_TRUE(rules) << rules.error().message;
  const auto topology = machine::bulldozer();
  const MachineState machine_state{.topology = &topology, .allowed = topology.cpus(), .load = {}};
  const std::vector<ThreadView> threads = {{0, 0, true, "x264"},
                                           {1, 0, false, "x264"},
                                           {2, 0, false, "x264-a"},
                                           {3, 0, false, "other"},
                                           {4, 0, false, ""}};
  const auto plans = rule_policy(*rules)(machine_state, threads);
  EXPECT_EQ(plans[0], (ThreadPlan{CpuSet{0}, {}, {}}));
  EXPECT_EQ(plans[1], (ThreadPlan{{}, SchedulingClass::rr, {}}));
  EXPECT_EQ(plans[2], (ThreadPlan{CpuSet{2, 3}, SchedulingClass::batch, {}}));
  EXPECT_EQ(plans[3], (ThreadPlan{{}, SchedulingClass::rr, {}}));
  EXPECT_EQ(plans[4], (ThreadPlan{{}, {}, 10'000'000}));
}

class WrongRules : public testing::TestWithParam<const char*> {};

TEST_P(WrongRules, AreRefusedByLineAndWord) {
  const auto rules = parse_rules(std::string("any class=batch\n") + GetParam());
  ASSERT_FALSE(rules);
  EXPECT_EQ(rules.error().kind, ErrorKind::usage);
  EXPECT_THAT(rules.error().message, HasSubstr("line 2"));
}

INSTANTIATE_TEST_SUITE_P(Lines, WrongRules,
                         testing::Values("cpus", "cpus=", "cpus=x", "cpus=3-1", "name= cpus=1",
                                         "born=x class=batch", "born=3-2 class=batch", "born=-1 class=batch",
                                         "class=idle", "class=BATCH", "slice=0", "slice=101", "slice=x",
                                         "slice=nan", "main", "born=2", "thread=2 cpus=1"));

TEST(RuleFile, WithoutARuleIsRefused) {
  for (const auto* text : {"", "\n\n", "# nothing\n"})
    EXPECT_FALSE(parse_rules(text)) << text;
  const auto missing = read_rule_file("/nonexistent/rules");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("/nonexistent/rules"));
}

TEST(RuleFile, WhatNeverEndsIsRefused) {
  const TemporaryFolder folder;
  const std::string fifo = folder / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const std::string huge = folder / "huge";
  make_file(huge, "any class=batch\n");
  std::filesystem::resize_file(huge, std::uintmax_t{1} << 40);
  for (const std::string& path : {std::string("/dev/zero"), fifo, huge}) {
    const auto rules = read_rule_file(path);
    ASSERT_FALSE(rules) << path;
    EXPECT_EQ(rules.error().kind, ErrorKind::usage);
    EXPECT_THAT(rules.error().message, HasSubstr(path));
  }
}

}  // namespace
}  // namespace millrace::placement
