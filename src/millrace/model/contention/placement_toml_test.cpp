#include "millrace/model/contention/placement_report.h"
#include "millrace/model/contention/placement_toml.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace millrace::model {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* modules = R"([machine]
pus = 4

[[level]]
name = "module"
each = 2
slowdown.fp = {fp = 1.9, simd = 1.25}
slowdown.int = {int = 1.4}

[[level]]
name = "cache"
groups = ["0,2", "1,3"]

[[thread]]
name = "render"
count = 2
demand = {fp = 0.75, l2 = 0.25}

[[thread]]
name = "scan\u001b"
busy = 0.5
demand = {int = 1}
)";

TEST(PlacementToml, SaysWhatIsSharedAndByWhom) {
  const auto placed = parse_placement_toml(modules, "a.toml");
  ASSERT_TRUE(placed) << placed.error().message;
  EXPECT_EQ(placed->machine.pus, 4);
  ASSERT_EQ(placed->machine.levels.size(), 2);
  EXPECT_THAT(placed->machine.levels[0].groups, ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_THAT(placed->machine.levels[1].groups, ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
  EXPECT_DOUBLE_EQ(placed->machine.levels[0].contention.of(SharedUnit::fp, SharedUnit::simd), 1.25);
  EXPECT_DOUBLE_EQ(placed->machine.levels[0].contention.of(SharedUnit::simd, SharedUnit::fp), 1);
  ASSERT_EQ(placed->threads.size(), 3);
  EXPECT_EQ(placed->threads[1].name, "render");
  EXPECT_DOUBLE_EQ(placed->threads[1].demand[SharedUnit::l2], 0.25);
  EXPECT_DOUBLE_EQ(placed->threads[2].busy, 0.5);
}

constexpr const char* on_a_family = R"([machine]
family = "amd-smt"
synthetic = "pack:2 [numa] l3:1 core:2 l2:1 l1d:1 pu:2"

[[thread]]
name = "near"
count = 2
demand = {dram = 1}
pages = [0.25, 0.75]
data = "frame"
[[thread]]
name = "other"
demand = {l2 = 1}
data = "rows"
overlap = 0.5
)";

TEST(PlacementToml, TakesTheMachineFromAProcessorFamily) {
  const auto placed = parse_placement_toml(on_a_family, "a.toml");
  ASSERT_TRUE(placed) << placed.error().message;
  EXPECT_EQ(placed->machine.pus, 8);
  EXPECT_EQ(placed->machine.nodes.size(), 2);
  EXPECT_GT(placed->machine.remote_memory, 1);
  ASSERT_EQ(placed->machine.levels.size(), 2);
  EXPECT_EQ(placed->machine.levels[0].name, "core");
  EXPECT_THAT(placed->machine.levels[0].groups.front(), ElementsAre(0, 1));
  EXPECT_EQ(placed->machine.levels[1].name, "llc");
  EXPECT_THAT(placed->threads[0].pages, ElementsAre(0.25, 0.75));
  EXPECT_EQ(placed->threads[0].data, placed->threads[1].data);
  EXPECT_NE(placed->threads[0].data, placed->threads[2].data);
  EXPECT_EQ(placed->threads[0].overlap, 1);
  EXPECT_EQ(placed->threads[2].overlap, 0.5);

  const auto typical = parse_placement_toml("machine = {family = \"power7\"}\n[[thread]]\nname = \"a\"\n"
                                            "demand = {fp = 1}\n",
                                            "a.toml");
  ASSERT_TRUE(typical) << typical.error().message;
  EXPECT_EQ(typical->machine.pus, 32);
  EXPECT_EQ(typical->machine.levels.front().groups.front().size(), 4);

  // The file's own levels replace those of the family.
  const auto own = parse_placement_toml(std::string(on_a_family) + "[[level]]\nname = \"pair\"\neach = 4\n"
                                                                   "grows = \"speed\"\n",
                                        "a.toml");
  ASSERT_TRUE(own) << own.error().message;
  ASSERT_EQ(own->machine.levels.size(), 1);
  EXPECT_EQ(own->machine.levels.front().name, "pair");
  EXPECT_EQ(own->machine.levels.front().growth, Growth::speed);
}

TEST(PlacementToml, IsReportedAsTextAndJson) {
  const auto placed = parse_placement_toml(modules, "a.toml");
  ASSERT_TRUE(placed);
  const auto outcomes = compare_rules(placed->machine, placed->threads, {.draws = 20});
  ASSERT_TRUE(outcomes);
  const std::string text = to_text(*placed, *outcomes);
  EXPECT_THAT(text, AllOf(HasSubstr("3 threads on 4 PUs"), HasSubstr("by units:"), HasSubstr("module 1"),
                          HasSubstr("render")));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  const auto json = to_json(*placed, *outcomes);
  EXPECT_EQ(json["rules"].size(), 6);
  EXPECT_EQ(json["rules"][1]["rule"], "none");
  EXPECT_EQ(json["rules"][2]["rule"], "pin-only");
  EXPECT_EQ(json["rules"][4]["rule"], "units");
  EXPECT_EQ(json["rules"][4]["placement"].size(), 3);
}

struct PlacementMistake {
  const char* name;
  const char* written;
  const char* instead;
  const char* message;
};

void PrintTo(const PlacementMistake& mistake, std::ostream* out) { *out << mistake.name; }

class FamilyMistakes : public testing::TestWithParam<PlacementMistake> {};

INSTANTIATE_TEST_SUITE_P(
    , FamilyMistakes,
    testing::Values(
        PlacementMistake{"unknown_family", "amd-smt", "vax", "no processor family 'vax'"},
        PlacementMistake{"no_machine_so", "pack:2 [numa]", "bogus:2", "does not describe a machine"},
        PlacementMistake{"pus_too", "[machine]", "[machine]\npus = 4", "either pus, or family"},
        PlacementMistake{"pages_of_one_node", "[0.25, 0.75]", "[1]",
                         "pages on 1 nodes, but the machine has 2"},
        PlacementMistake{"pages_of_text", "[0.25, 0.75]", "[\"x\"]", "a share of pages must be a number"},
        PlacementMistake{"pages_exceed", "0.75", "0.95", "pages are shares by node"},
        PlacementMistake{"overlap_of_nothing", "data = \"rows\"", "", "has an overlap, but no data"},
        PlacementMistake{"overlap_too_large", "overlap = 0.5", "overlap = 1.5", "overlap is 1.5"}),
    [](const auto& parameters) { return parameters.param.name; });

class PlacementTomlMistakes : public testing::TestWithParam<PlacementMistake> {};

INSTANTIATE_TEST_SUITE_P(
    , PlacementTomlMistakes,
    testing::Values(
        PlacementMistake{"no_machine", "[machine]\npus = 4", "", "no [machine]"},
        PlacementMistake{"no_pus", "pus = 4", "", "has no pus"},
        PlacementMistake{"too_many_pus", "pus = 4", "pus = 5000",
                         "a.toml:2: pus must be a whole number from 1 to 1024"},
        PlacementMistake{"pus_in_quotes", "pus = 4", "pus = '4'", "a.toml:2: pus must be a whole number"},
        PlacementMistake{"unknown_key", "pus = 4", "pus = 4\nghz = 3", "unknown key 'ghz'"},
        PlacementMistake{"unknown_table", "[machine]", "[thing]\n[machine]", "unknown key 'thing'"},
        PlacementMistake{"each_and_groups", "each = 2", "each = 2\ngroups = ['0']", "needs either each"},
        PlacementMistake{"neither", "each = 2", "", "needs either each"},
        PlacementMistake{"each_zero", "each = 2", "each = 0", "each must be a whole number"},
        PlacementMistake{"group_of_nobody", "\"0,2\"", "\"\"", "a group must be a list of PUs"},
        PlacementMistake{"group_of_words", "\"0,2\"", "\"first\"", "a group must be a list of PUs"},
        PlacementMistake{"group_elsewhere", "\"0,2\"", "\"0,9\"", "PU 9"},
        PlacementMistake{"group_twice", "\"1,3\"", "\"2-3\"", "PU 2 is in two groups"},
        PlacementMistake{"slowdown_below_one", "fp = 1.9", "fp = 0.9", "fp beside fp takes 0.9 times"},
        PlacementMistake{"slowdown_nan", "fp = 1.9", "fp = nan", "a slowdown must be a number"},
        PlacementMistake{"slowdown_of_all", "slowdown.fp = {fp = 1.9, simd = 1.25}", "slowdown.fp = 2",
                         "slowdown must be a table"},
        PlacementMistake{"unknown_unit", "l2 = 0.25", "gpu = 0.25", "unknown unit 'gpu'"},
        PlacementMistake{"demands_exceed", "l2 = 0.25", "l2 = 0.5", "come to 1.25"},
        PlacementMistake{"no_name", "name = \"render\"", "", "no name"},
        PlacementMistake{"count_zero", "count = 2", "count = 0", "count must be a whole number"},
        PlacementMistake{"too_many_threads", "count = 2", "count = 4096", "more than 4096 threads"},
        PlacementMistake{"busy_negative", "busy = 0.5", "busy = -1", "busy is -1"},
        PlacementMistake{"busy_text", "busy = 0.5", "busy = 'no'", "busy must be a number"},
        PlacementMistake{"thread_is_a_number", "[[thread]]\nname = \"render\"",
                         "thread = 4\n[x]\nname = \"render\"", "unknown key"},
        PlacementMistake{"no_toml", "[machine]", "[machine", "not valid TOML"}),
    [](const auto& parameters) { return parameters.param.name; });

void expect_refused(std::string text, const PlacementMistake& mistake) {
  const std::size_t at = text.find(mistake.written);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string_view(mistake.written).size(), mistake.instead);
  const auto placed = parse_placement_toml(text, "a.toml");
  ASSERT_FALSE(placed);
  EXPECT_EQ(placed.error().kind, ErrorKind::usage);
  EXPECT_THAT(placed.error().message, AllOf(StartsWith("a.toml"), HasSubstr(mistake.message)));
  EXPECT_EQ(placed.error().message.find('\n'), std::string::npos);
}

TEST_P(PlacementTomlMistakes, AreNamedWithTheirLine) { expect_refused(modules, GetParam()); }

TEST_P(FamilyMistakes, AreNamed) { expect_refused(on_a_family, GetParam()); }

}  // namespace
}  // namespace millrace::model
