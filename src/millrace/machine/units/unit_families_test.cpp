#include "millrace/base/testing/scoped_variable_testing.h"
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/machine/units/unit_families.h"
#include "millrace/machine/units/unit_traits_toml.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::machine {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;

// Evaluates a formula with `cycles` = 4, `empty` = 1 and `none` = 0.
std::optional<double> value_of(std::string_view text) {
  const auto formula = CounterFormula::parse(text);
  if (!formula) {
    ADD_FAILURE() << formula.error().message;
    return std::nullopt;
  }
  return formula->evaluate([](std::string_view name) -> std::optional<double> {
    if (name == "cycles") return 4;
    if (name == "empty") return 1;
    if (name == "none") return 0;
    return std::nullopt;
  });
}

TEST(CounterFormula, ComputesAsArithmeticDoes) {
  EXPECT_THAT(value_of("1 - empty / cycles"), Optional(DoubleNear(0.75, 1e-12)));
  EXPECT_THAT(value_of("(1 - empty) / cycles"), Optional(DoubleNear(0, 1e-12)));
  EXPECT_THAT(value_of("8 - 4 - 2"), Optional(DoubleNear(2, 1e-12)));
  EXPECT_THAT(value_of("8/4/2*3"), Optional(DoubleNear(3, 1e-12)));
  EXPECT_THAT(value_of("- -2 + -cycles*2.5e-1"), Optional(DoubleNear(1, 1e-12)));
  EXPECT_THAT(value_of("((((7))))"), Optional(DoubleNear(7, 1e-12)));
}

TEST(CounterFormula, SaysNothingWhereNothingWasCountedOrAnEventIsMissing) {
  EXPECT_EQ(value_of("empty / none"), std::nullopt);
  EXPECT_EQ(value_of("1 + missing"), std::nullopt);
}

TEST(CounterFormula, NamesItsEventsOnce) {
  EXPECT_THAT(CounterFormula::parse("a / (a + b)")->names(), testing::ElementsAre("a", "b"));
}

TEST(CounterFormula, ThatIsNoneIsRefusedWithThePlace) {
  for (const auto& [text, message] : std::map<std::string, std::string>{{"", "at its end"},
                                                                        {"1 +", "at its end"},
                                                                        {"(1 + 2", "')' at its end"},
                                                                        {"1 2", "before '2'"},
                                                                        {"a $ b", "before '$ b'"},
                                                                        {"1)", "before ')'"},
                                                                        {".", "before '.'"},
                                                                        {"1e999", "before '1e999'"},
                                                                        {"infinity_ * ", "at its end"}}) {
    const auto formula = CounterFormula::parse(text);
    ASSERT_FALSE(formula) << text;
    EXPECT_EQ(formula.error().kind, ErrorKind::usage);
    EXPECT_THAT(formula.error().message, AllOf(HasSubstr(message), Not(HasSubstr("\n"))));
  }
  EXPECT_FALSE(CounterFormula::parse(std::string(10'000, '(')));
  EXPECT_FALSE(CounterFormula::parse(std::string(900, '-') + "1"));
}

constexpr const char* minimal = R"(
family = "toy"
title = "Toy"
explanation = "all share"
[units]
int = {shared_by = "core"}
fp = {shared_by = "module", units = 3}
simd = {shared_by = "l2"}
)";

TEST(FamilyMatch, ReadAloneIsThatOfTheWholeFile) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(MILLRACE_SOURCE_DIR "/src/millrace/machine/units/families")) {
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(parse_family_match(text, "x"), parse_unit_traits(text, "x")->match) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, UnitFamilies::built_in().all().size());
  EXPECT_EQ(parse_family_match("[match]\nvendor = [\"a\"]\n[units]\n", "x")->vendors,
            std::vector<std::string>{"a"});
  EXPECT_THAT(parse_family_match("\n[match]\nvendor = 3\n", "x").error().message, HasSubstr("match.vendor"));
}

struct Known {
  ProcessorIdentity identity;
  const char* family;
};

class KnownProcessor : public testing::TestWithParam<Known> {};

TEST_P(KnownProcessor, IsOfItsFamily) {
  const UnitTraits& traits = UnitFamilies::built_in().identify(GetParam().identity);
  EXPECT_EQ(traits.family, GetParam().family);
  // With no families of the user's own, and with families for other processors.
  const TemporaryFolder folder;
  const ScopedVariable config("XDG_CONFIG_HOME", folder.path().string());
  EXPECT_EQ(UnitFamilies::identify_for_this_user(GetParam().identity), traits);
  std::filesystem::create_directories(folder / "millrace/units");
  make_file(folder / "millrace/units/mine.toml", std::string(minimal) + "[match]\nvendor = [\"mine\"]\n");
  EXPECT_EQ(UnitFamilies::identify_for_this_user(GetParam().identity), traits);
  EXPECT_EQ(UnitFamilies::identify_for_this_user({.vendor = "mine"})->family, "toy");
  make_file(folder / "millrace/units/wrong.toml", "family = 3\n");
  EXPECT_THAT(UnitFamilies::identify_for_this_user(GetParam().identity).error().message,
              HasSubstr("wrong.toml:1: family"));
}

INSTANTIATE_TEST_SUITE_P(
    Processors, KnownProcessor,
    testing::Values(Known{{"x86_64", "AuthenticAMD", 21, "AMD FX(tm)-8150 Eight-Core Processor"},
                          "amd-bulldozer"},
                    Known{{"", "AuthenticAMD", 21, ""}, "amd-bulldozer"},
                    Known{{"x86_64", "AuthenticAMD", 25, "AMD EPYC"}, "amd-smt"},
                    // Intel's family 15 is NetBurst and AMD's family 0Fh the first Opterons. Neither is 15h.
                    Known{{"x86_64", "GenuineIntel", 15, "Intel(R) Pentium(R) 4"}, "intel-smt"},
                    Known{{"x86_64", "GenuineIntel", 21, ""}, "intel-smt"},
                    Known{{"x86_64", "AuthenticAMD", 15, "AMD Opteron(tm)"}, "x86"},
                    Known{{"x86_64", "", -1, ""}, "x86"},
                    Known{{"ppc64", "", -1, "POWER7 (architected), altivec supported"}, "power7"},
                    Known{{"ppc64", "", -1, "POWER7+ (raw), altivec supported"}, "power7"},
                    Known{{"ppc64le", "", -1, "POWER9, altivec supported"}, "power9-10"},
                    Known{{"ppc64le", "", -1, "POWER10 (architected)"}, "power9-10"},
                    Known{{"aarch64", "0x41", -1, "part 0xd46"}, "cortex-a510"},
                    Known{{"aarch64", "0x41", -1, "part 0xd03"}, "generic"},
                    Known{{"aarch64", "0x61", -1, "part 0x022"}, "apple-m"},
                    Known{{"aarch64", "", -1, ""}, "generic"}, Known{{}, "generic"}));

TEST(UnitFamilies, ThatAreBuiltInAreAllReadAndDiffer) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(MILLRACE_SOURCE_DIR) /
                                                               "src/millrace/machine/units/families")) {
    const auto traits = parse_unit_traits(content_of(entry.path()), entry.path().filename().string());
    ASSERT_TRUE(traits) << traits.error().message;
    EXPECT_EQ(entry.path().stem(), traits->family) << "a family is found by the name of its file";
    ++files;
  }
  EXPECT_EQ(UnitFamilies::built_in().all().size(), files);
  std::set<std::string> names;
  for (const UnitTraits& traits : UnitFamilies::built_in().all()) {
    EXPECT_TRUE(names.insert(traits.family).second) << traits.family;
    EXPECT_EQ(traits.from, "built in");
  }
  EXPECT_EQ(UnitFamilies::built_in().all().back().family, "generic");
}

// Equations 1 and 2 of the WorkOver paper, with the values of its figure 6.
TEST(UnitFamilies, KnowThePapersFormulas) {
  const auto usage = [](const char* family, const std::map<std::string, double, std::less<>>& counted) {
    const UnitTraits& traits = *UnitFamilies::built_in().find(family);
    EXPECT_EQ(traits.counters.usage.size(), 1);
    EXPECT_EQ(traits.counters.usage.front().first, SharedUnit::fp);
    return traits.counters.usage.front().second.evaluate([&](std::string_view name) -> std::optional<double> {
      const auto event =
          std::ranges::find(traits.counters.events, name, &std::pair<std::string, std::string>::first);
      const auto value = counted.find(event->second);
      return value == counted.end() ? std::nullopt : std::optional(value->second);
    });
  };
  EXPECT_THAT(usage("amd-bulldozer", {{"PERF_COUNT_HW_CPU_CYCLES", 1000}, {"CYCLES_FPU_EMPTY", 80}}),
              Optional(DoubleNear(0.92, 1e-12)));
  EXPECT_THAT(usage("power7", {{"PM_CYC", 1000}, {"PM_FLOP", 420}}), Optional(DoubleNear(0.42, 1e-12)));
}

TEST(UnitTraitsToml, IsReadAsWritten) {
  const auto traits = parse_unit_traits(std::string(minimal) + R"(
[match]
vendor = ["ToyInc", "Toys"]
[caches]
l2 = "module"
[slowdown.llc]
dram = {dram = 2}
[slowdown.module]
fp = {fp = 1.5}
[counters]
interval = 0.5
events = {c = "CYCLES"}
usage = {simd = "c * 2"}
)",
                                        "toy.toml");
  ASSERT_TRUE(traits) << traits.error().message;
  EXPECT_EQ(traits->from, "toy.toml");
  EXPECT_EQ(traits->integer, (UnitSharing{SharingDomain::core, 0}));
  EXPECT_EQ(traits->fp, (UnitSharing{SharingDomain::module, 3}));
  EXPECT_EQ(traits->match.vendors, (std::vector<std::string>{"ToyInc", "Toys"}));
  EXPECT_EQ(traits->caches, (std::vector<CacheSharing>{{"l2", SharingDomain::module}}));
  ASSERT_EQ(traits->slowdowns.size(), 2);
  EXPECT_EQ(traits->slowdowns[0].domain, SharingDomain::module) << "narrowest first";
  EXPECT_EQ(traits->slowdowns[0].slowdown[SharedUnit::fp][SharedUnit::fp], 1.5);
  EXPECT_EQ(traits->slowdowns[0].slowdown[SharedUnit::fp][SharedUnit::simd], 1);
  EXPECT_EQ(traits->counters.interval_s, 0.5);
  EXPECT_EQ(traits->counters.usage.front().first, SharedUnit::simd);
}

struct Wrong {
  const char* more;
  const char* message;
};

class WrongTraits : public testing::TestWithParam<Wrong> {};

TEST_P(WrongTraits, AreRefusedInOneLineThatNamesFileAndKey) {
  const auto traits = parse_unit_traits(std::string(minimal) + GetParam().more, "toy.toml");
  ASSERT_FALSE(traits);
  EXPECT_EQ(traits.error().kind, ErrorKind::usage);
  EXPECT_THAT(traits.error().message,
              AllOf(testing::StartsWith("toy.toml:"), HasSubstr(GetParam().message), Not(HasSubstr("\n"))));
}

INSTANTIATE_TEST_SUITE_P(
    Files, WrongTraits,
    testing::Values(
        Wrong{"[mach]\n", "unknown key 'mach'; did you mean 'match'?"},
        Wrong{"[match]\nvendors = [\"a\"]\n", "toy.toml:10: unknown key 'match.vendors'"},
        Wrong{"[match]\nvendor = \"a\"\n", "match.vendor must be a list"},
        Wrong{"[match]\nfamily_number = [\"a\"]\n", "match.family_number must be whole numbers"},
        Wrong{"[caches]\nl4 = \"core\"\n", "unknown key 'caches.l4'"},
        Wrong{"[caches]\nl2 = \"socket\"\n", "caches.l2 must be one of pu, l1, core"},
        Wrong{"[slowdown.core]\nfp = {fp = 0.5}\n", "slowdown.core.fp.fp must be a number from 1"},
        Wrong{"[slowdown.core]\nfp = {gpu = 2}\n", "unknown key 'slowdown.core.fp.gpu'"},
        Wrong{"[slowdown.core]\nfp = 2\n", "slowdown.core.fp must be a table"},
        Wrong{"[slowdown]\nsocket = {}\n", "unknown key 'slowdown.socket'"},
        Wrong{"[counters]\ninterval = 0\n", "counters.interval must be a number of seconds"},
        Wrong{"[counters]\nusage = {fp = \"a\"}\n", "counters.usage.fp uses 'a', which counters.events"},
        Wrong{"[counters]\nusage = {fp = \"1 +\"}\n", "counters.usage.fp: the formula '1 +'"},
        Wrong{"[counters]\nusage = {gpu = \"1\"}\n", "counters.usage.'gpu' is not a unit"},
        Wrong{"[counters]\nevents = {\"a-b\" = \"X\"}\n", "counters.events.'a-b' is no name"},
        Wrong{"[counters]\nevents = {a = 1}\n", "must be text in quotes"},
        Wrong{"family = \n", "not valid TOML"}, Wrong{"[units]\n", "not valid TOML"}));

TEST(WrongTraits, WithoutWhatEveryFileHasAreRefused) {
  EXPECT_THAT(parse_unit_traits("", "x.toml").error().message, HasSubstr("no family in the file"));
  EXPECT_THAT(
      parse_unit_traits("family = \"a b\"\ntitle = \"t\"\nexplanation = \"e\"\n", "x.toml").error().message,
      HasSubstr("family must be a short name"));
  EXPECT_THAT(
      parse_unit_traits("family = \"a\"\ntitle = \"t\"\nexplanation = \"e\"\n", "x.toml").error().message,
      HasSubstr("no [units]"));
  EXPECT_THAT(parse_unit_traits("family = \"a\"\ntitle = \"t\"\nexplanation = \"e\"\n[units]\n"
                                "int = {shared_by = \"core\"}\nfp = {shared_by = \"pu\"}\n",
                                "x.toml")
                  .error()
                  .message,
              HasSubstr("units.fp cannot be shared by fewer PUs (pu) than units.int (core)"));
}

TEST(UnitFamilies, OfAFolderStandBeforeThoseBuiltInAndTakeTheirPlace) {
  const TemporaryFolder folder;
  make_file(folder / "mine.toml", std::string(minimal) + "[match]\nvendor = [\"GenuineIntel\"]\n");
  std::string bulldozer(minimal);
  bulldozer.replace(bulldozer.find("toy"), 3, "amd-bulldozer");
  make_file(folder / "other.toml",
            bulldozer + "[match]\nvendor = [\"AuthenticAMD\"]\nfamily_number = [21]\n");
  make_file(folder / "notes.txt", "nothing of ours");
  const auto families = UnitFamilies::with_folder(folder.path());
  ASSERT_TRUE(families) << families.error().message;
  EXPECT_EQ(families->all().size(), UnitFamilies::built_in().all().size() + 1);
  const UnitTraits& intel = families->identify({"x86_64", "GenuineIntel", 6, ""});
  EXPECT_EQ(intel.family, "toy");
  EXPECT_EQ(intel.from, folder / "mine.toml");
  EXPECT_EQ(families->identify({"x86_64", "AuthenticAMD", 21, ""}).title, "Toy");
  EXPECT_EQ(families->identify({}).family, "generic");
}

TEST(UnitFamilies, OfAFolderWithAnErrorAreRefusedByTheNameOfTheFile) {
  const TemporaryFolder folder;
  make_file(folder / "a.toml", minimal);
  EXPECT_TRUE(UnitFamilies::with_folder(folder.path()));
  make_file(folder / "b.toml", minimal);
  const auto twice = UnitFamilies::with_folder(folder.path());
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, AllOf(HasSubstr("b.toml: family 'toy'"), HasSubstr("a.toml")));
  make_file(folder / "b.toml", "family = 1");
  const auto wrong = UnitFamilies::with_folder(folder.path());
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::usage);
  EXPECT_THAT(wrong.error().message, HasSubstr("b.toml:1: family must be text"));
}

TEST(UnitFamilies, AreThoseBuiltInWhereThereIsNoFolder) {
  const TemporaryFolder folder;
  const auto families = UnitFamilies::with_folder(folder / "nowhere");
  ASSERT_TRUE(families);
  EXPECT_EQ(families->all(), UnitFamilies::built_in().all());
}

TEST(UnitFolder, FollowsTheEnvironment) {
  const ScopedVariable home("HOME", "/somebody");
  {
    const ScopedVariable config("XDG_CONFIG_HOME", "/config");
    EXPECT_EQ(unit_folder(), "/config/millrace/units");
  }
  const ScopedVariable config("XDG_CONFIG_HOME", "relative");
  EXPECT_EQ(unit_folder(), "/somebody/.config/millrace/units");
  const ScopedVariable nobody("HOME", std::nullopt);
  EXPECT_EQ(unit_folder(), "");
}

}  // namespace
}  // namespace millrace::machine
