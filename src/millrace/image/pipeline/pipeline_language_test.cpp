#include "millrace/base/text/nearest_name.h"
#include "millrace/image/filters/named_filters.h"
#include "millrace/image/pipeline/pipeline_language.h"
#include "millrace/image/pipeline/pipeline_testing.h"
#include "millrace/image/pipeline/presets.h"

#include <algorithm>
#include <cmath>
#include <locale>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(std::string_view text) {
  const auto pipeline = parse_pipeline(text);
  if (pipeline) return "no error";
  EXPECT_EQ(pipeline.error().kind, ErrorKind::usage);
  return pipeline.error().message;
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i)
    result += text;
  return result;
}

TEST(PipelineLanguage, ReadsAGraphWithAFanOut) {
  const Pipeline pipeline = parsed("blur | [sobel_x, sobel_y] | magnitude | threshold(0.1, keep=below)");
  ASSERT_EQ(pipeline.nodes.size(), 5U);
  const std::vector<std::string_view> names{"blur", "sobel_x", "sobel_y", "magnitude", "threshold"};
  for (std::size_t n = 0; n < names.size(); ++n)
    EXPECT_EQ(pipeline.nodes[n].filter->name, names[n]);
  EXPECT_THAT(pipeline.nodes[0].inputs, ElementsAre(Node::source));
  EXPECT_THAT(pipeline.nodes[1].inputs, ElementsAre(0));
  EXPECT_THAT(pipeline.nodes[2].inputs, ElementsAre(0));
  EXPECT_THAT(pipeline.nodes[3].inputs, ElementsAre(1, 2));
  EXPECT_THAT(pipeline.nodes[4].inputs, ElementsAre(3));
  EXPECT_THAT(pipeline.nodes[4].values, ElementsAre(0.1, 1.0));
}

TEST(PipelineLanguage, ReadsFanOutsFromTheSourceWithinBranchesAndWithInput) {
  const Pipeline pipeline = parsed("[[input, blur] | magnitude | binary, input] | magnitude");
  ASSERT_EQ(pipeline.nodes.size(), 4U);
  EXPECT_THAT(pipeline.nodes[1].inputs, ElementsAre(Node::source, 0));
  EXPECT_THAT(pipeline.nodes[3].inputs, ElementsAre(2, Node::source));
}

// Different spellings of one pipeline, and the canonical one.
TEST(PipelineLanguage, BeginsBranchesWithTheSecondVideo) {
  const Pipeline pipeline =
      parsed("blur | [input, second | rotate(3) | blur] | magnitude | [input, second] | magnitude");
  ASSERT_EQ(pipeline.nodes.size(), 5U);
  EXPECT_THAT(pipeline.nodes[1].inputs, ElementsAre(Node::second));
  EXPECT_THAT(pipeline.nodes[3].inputs, ElementsAre(0, 2));
  EXPECT_THAT(pipeline.nodes[4].inputs, ElementsAre(3, Node::second));
  EXPECT_TRUE(reads_second(pipeline));
  EXPECT_FALSE(reads_second(parsed("blur | [input, blur] | magnitude")));
  EXPECT_THAT(parsed("second | blur").nodes[0].inputs, ElementsAre(Node::second));
}

TEST(PipelineLanguage, SaysWhatIsWrongWithASecondVideo) {
  EXPECT_EQ(
      error_of("blur | second"),
      "pipeline column 8: 'second' is where a branch begins, as in '[input, second | blur] | magnitude'");
  EXPECT_EQ(error_of("second"), "pipeline column 1: the pipeline changes nothing; name at least one filter");
  EXPECT_EQ(
      error_of("blur | [second, second | blur] | magnitude"),
      "pipeline column 1: nothing reads what this blur makes; let a branch that follows it begin without "
      "'second'");
}

struct Spelling {
  std::string_view text;
  std::string_view canonical;
};
class Spellings : public ::testing::TestWithParam<Spelling> {};

TEST_P(Spellings, HaveOneCanonicalForm) {
  EXPECT_EQ(to_language(parsed(GetParam().text)), GetParam().canonical);
  EXPECT_EQ(to_string(parsed(GetParam().text)), GetParam().canonical);
  EXPECT_EQ(parsed(GetParam().text), parsed(GetParam().canonical));
}

INSTANTIATE_TEST_SUITE_P(
    PipelineLanguage, Spellings,
    ::testing::Values(Spelling{"blur", "blur"}, Spelling{" \t\r\nblur ( ) ", "blur"},
                      Spelling{"[blur]|binary", "blur | binary"}, Spelling{"[[[blur]]]", "blur"},
                      Spelling{"[input] | blur", "blur"}, Spelling{"blur | [input]", "blur"},
                      Spelling{"[blur, binary]|magnitude", "[blur, binary] | magnitude"},
                      Spelling{"binary|[input,input]|magnitude", "binary | [input, input] | magnitude"},
                      Spelling{"threshold(keep = above, t = 5e-1)", "threshold(0.5)"},
                      Spelling{"threshold(+.5, below)", "threshold(0.5, keep=below)"},
                      Spelling{"threshold(-0)", "threshold(0)"}, Spelling{"rotate(1E2)", "rotate(100)"},
                      Spelling{"rotate(0.1000000000000000055)", "rotate(0.1)"},
                      Spelling{"rotate(1e-300)", "rotate(1e-300)"},
                      Spelling{"discretise(8.0)", "discretise(8)"},
                      Spelling{"undistort(-0.12, 0)", "undistort(-0.12)"},
                      Spelling{"undistort(-0.12, k2=.25)", "undistort(-0.12, k2=0.25)"}));

struct Mistake {
  std::string_view text;
  int column;
  std::string_view says;
};
class Mistakes : public ::testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, GetOneLineWithColumnAndWayOut) {
  const std::string message = error_of(GetParam().text);
  EXPECT_THAT(message, ::testing::StartsWith(fmt::format("pipeline column {}: ", GetParam().column)));
  EXPECT_THAT(message, HasSubstr(std::string(GetParam().says)));
  EXPECT_TRUE(std::ranges::all_of(message, [](char c) { return c >= ' ' && c <= '~'; })) << message;
}

INSTANTIATE_TEST_SUITE_P(
    Names, Mistakes,
    ::testing::Values(Mistake{"blur | bluur", 8,
                              "unknown filter 'bluur'; did you mean 'blur'? ('millrace filters' lists them)"},
                      Mistake{"Sobel-X", 1, "did you mean 'sobel_x'?"},
                      Mistake{"sobel", 1, "did you mean 'sobel_x'?"},
                      Mistake{"kuwahara", 1, "unknown filter 'kuwahara' ('millrace"},
                      Mistake{"load8", 1, "unknown filter 'load8'"},
                      Mistake{"threshold(tt=1)", 11,
                              "threshold has no parameter 'tt'; did you mean 't'? (it takes t, keep)"},
                      Mistake{"threshold(0.5, kep=above)", 16, "did you mean 'keep'?"},
                      Mistake{"blur(radius=2)", 6, "blur takes no parameters, so not 'radius'"},
                      Mistake{"blur | input", 8, "leave it out here"},
                      Mistake{"input", 1, "'input' is a branch"},
                      Mistake{"[blur, input | binary] | magnitude", 8, "'input' stands alone"},
                      Mistake{"[blur, binary | input] | magnitude", 17, "'input' stands alone"}));

INSTANTIATE_TEST_SUITE_P(
    Values, Mistakes,
    ::testing::Values(
        Mistake{"threshold", 1,
                "threshold: t is missing (the value to compare with); it must be a number from -16 to 16"},
        Mistake{"blur | threshold(keep=below)", 8, "t is missing"},
        Mistake{"threshold(99)", 11, "threshold: t must be a number from -16 to 16, not '99'"},
        Mistake{"rotate(degrees = -360.5)", 18,
                "rotate: degrees must be a number from -360 to 360, not '-360.5'"},
        Mistake{"crop(0)", 6, "crop: fraction must be a number from 0.001 to 1, not '0'"},
        Mistake{"discretise(8.5)", 12,
                "discretise: levels must be a whole number from 2 to 65536, not '8.5'"},
        Mistake{"rotate(nan)", 8, "not 'nan'"}, Mistake{"rotate(inf)", 8, "not 'inf'"},
        Mistake{"rotate(-infinity)", 8, "not '-infinity'"}, Mistake{"rotate(1e999)", 8, "not '1e999'"},
        Mistake{"rotate(0x10)", 8, "not '0x10'"}, Mistake{"rotate(1e)", 8, "not '1e'"},
        Mistake{"rotate(+-1)", 8, "not '+-1'"}, Mistake{"rotate(++1)", 8, "not '++1'"},
        Mistake{"rotate(1.2.3)", 8, "not '1.2.3'"}, Mistake{"rotate(ten)", 8, "not 'ten'"},
        Mistake{"threshold(1, abve)", 14,
                "threshold: keep must be above or below, not 'abve'; did you mean 'above'?"},
        Mistake{"threshold(1, keep=1)", 19, "keep must be above or below, not '1'"},
        Mistake{"threshold(1, t=2)", 16, "threshold: t is given twice"},
        Mistake{"threshold(t=1, below)", 16, "'below' follows a named argument"},
        Mistake{"rotate(1, 2)", 11, "rotate takes 1 parameter (degrees), not 2"},
        Mistake{"blur(1)", 6, "blur takes no parameters"}));

INSTANTIATE_TEST_SUITE_P(
    Syntax, Mistakes,
    ::testing::Values(Mistake{"", 1, "the pipeline is empty"}, Mistake{"  \t", 4, "the pipeline is empty"},
                      Mistake{"blur |", 7, "expected a filter, not the end"},
                      Mistake{"| blur", 1, "expected a filter, not '|'"},
                      Mistake{"blur || binary", 7, "expected a filter, not '|'"},
                      Mistake{"blur binary", 6, "expected '|' and a filter, or the end, not 'b'"},
                      Mistake{"blur, binary", 5, "not ','"}, Mistake{"blur]", 5, "not ']'"},
                      Mistake{"blur)", 5, "not ')'"}, Mistake{"rotate(", 8, "expected a value, not the end"},
                      Mistake{"rotate(6", 7, "this '(' is not closed"},
                      Mistake{"rotate(6 | blur", 10, "expected ',' or ')', not '|'"},
                      Mistake{"threshold(1,)", 13, "expected a value"},
                      Mistake{"rotate(degrees=)", 16, "expected a value after 'degrees=', not ')'"},
                      Mistake{"rotate(=6)", 8, "expected a value, not '='"},
                      Mistake{"rotate()(6)", 1, "degrees is missing"},
                      Mistake{"blur\xE2\x86\x92"
                              "binary",
                              5, "not '\\xe2\\x86\\x92'"},
                      Mistake{"blur | \xC3\xA9t\xC3\xA9", 8, "expected a filter, not '\\xc3\\xa9'"},
                      Mistake{"rotate(6)\xC3\xA9 | bluur", 10, "not '\\xc3\\xa9'"},
                      Mistake{std::string_view("blur\0x", 6), 5, "\\x00"}));

INSTANTIATE_TEST_SUITE_P(
    Arity, Mistakes,
    ::testing::Values(
        Mistake{"magnitude", 1,
                "magnitude takes 2 inputs, but 1 reaches it; put a fan-out before it, as in '[..., ...] | "
                "magnitude'"},
        Mistake{"blur | magnitude", 8, "but 1 reaches it"},
        Mistake{"[blur] | magnitude", 10, "but 1 reaches it"},
        Mistake{"[blur, binary] | blur", 18,
                "blur takes 1 input, but 2 branches reach it; join them first, such as 'magnitude'"},
        Mistake{"[blur, blur, blur] | magnitude", 22, "magnitude takes 2 inputs, but 3 branches reach it"},
        Mistake{"binary | [blur, binary]", 10, "nothing joins the 2 branches of this fan-out"},
        Mistake{"[blur, [blur, binary]] | magnitude", 8, "nothing joins the 2 branches"},
        Mistake{"[blur, binary] | [blur, binary] | magnitude", 18,
                "a fan-out takes 1 input, but 2 branches reach it"},
        Mistake{"[input]", 1, "the pipeline changes nothing"},
        Mistake{" [[ input\t]]", 2, "the pipeline changes nothing"}, Mistake{"[]", 2, "this branch is empty"},
        Mistake{"[blur, ] | magnitude", 8, "this branch is empty"},
        Mistake{"[, blur] | magnitude", 2, "this branch is empty"},
        Mistake{"[| blur]", 2, "expected a filter"},
        Mistake{"blur | [blur, binary", 8, "this '[' is not closed"},
        Mistake{"[", 2, "expected a filter, not the end"},
        Mistake{"[blur) | magnitude", 6, "expected '|', ',' or ']' in a fan-out, not ')'"}));

TEST(PipelineLanguage, CountsColumnsInCharacters) {
  // Columns are counted in characters. Any other character before the error would itself be an error, so
  // white space has to do.
  EXPECT_THAT(error_of("\n\n bluur"), ::testing::StartsWith("pipeline column 4: "));
  EXPECT_THAT(error_of("\xC3\xA9"), ::testing::StartsWith("pipeline column 1: "));
}

TEST(PipelineLanguage, TakesAsManyStagesAsAllowedAndNoMore) {
  const std::string longest = repeated("blur | ", max_stages - 1) + "blur";
  EXPECT_EQ(parsed(longest).nodes.size(), max_stages);
  EXPECT_EQ(to_language(parsed(longest)), longest);
  EXPECT_THAT(error_of(longest + " | blur"), HasSubstr("more than 256 stages"));
}

TEST(PipelineLanguage, NestsAsDeepAsStagesAllowAndRefusesMore) {
  std::string deepest = "blur";
  for (std::size_t i = 1; i < max_stages; ++i)
    deepest.insert(0, "[").append(", input] | magnitude");
  EXPECT_EQ(to_language(parsed(deepest)), deepest);

  EXPECT_EQ(parsed(repeated("[", max_nesting) + "blur" + repeated("]", max_nesting)), parsed("blur"));
  EXPECT_THAT(error_of(repeated("[", max_nesting + 1) + "blur"), HasSubstr("nested more than 256 deep"));
  EXPECT_THAT(error_of(repeated("[", max_pipeline_text)), HasSubstr("nested more than"));
}

TEST(PipelineLanguage, RefusesTextThatIsTooLong) {
  EXPECT_EQ(parsed("blur" + repeated(" ", max_pipeline_text - 4)), parsed("blur"));
  EXPECT_THAT(error_of("blur" + repeated(" ", max_pipeline_text - 3)),
              HasSubstr("more than the 65536 allowed"));
}

TEST(PipelineLanguage, QuotesNoMoreThanALineOfTheUsersText) {
  EXPECT_LT(error_of(repeated("x", 60000)).size(), 200U);
  EXPECT_LT(error_of("rotate(" + repeated("9", 60000) + ")").size(), 200U);
}

class Seeds : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(PipelineLanguage, Seeds, ::testing::Range(0U, 20U));

TEST_P(Seeds, EverySeriesParallelGraphRoundTripsThroughTheLanguage) {
  Random random(GetParam());
  for (int i = 0; i < 100; ++i) {
    const Pipeline pipeline = random_series_parallel(random);
    ASSERT_EQ(canonical(pipeline), pipeline);
    if (pipeline.nodes.size() > max_stages) continue;
    const auto text = to_language(pipeline);
    ASSERT_TRUE(text);
    EXPECT_EQ(parsed(*text), pipeline) << *text;
    EXPECT_EQ(to_language(parsed(*text)), text);
  }
}

TEST_P(Seeds, AnyGraphRoundTripsThroughTheLanguageOrIsRefused) {
  Random random(GetParam());
  int written = 0;
  int refused = 0;
  for (int i = 0; i < 200; ++i) {
    const Pipeline pipeline = random_graph(random, 1 + below(random, 12));
    const auto text = to_language(pipeline);
    ++(text ? written : refused);
    if (!text) continue;
    EXPECT_EQ(parsed(*text), pipeline) << *text;
  }
  EXPECT_GT(written, 0);
  EXPECT_GT(refused, 0);
}

TEST(PipelineLanguage, IsNotUsedForGraphsWhoseBranchesShareAStage) {
  // sobel_y reads blur outside the fan-out that it is in: neither branch contains the other.
  Pipeline pipeline = parsed("[blur | sobel_x, sobel_y] | magnitude | [binary, input] | magnitude");
  ASSERT_TRUE(to_language(pipeline));
  pipeline.nodes[4].inputs[0] = 0;  // binary, in the second fan-out, reads blur in the first
  pipeline = canonical(pipeline);
  EXPECT_FALSE(to_language(pipeline));
  EXPECT_THAT(to_string(pipeline), HasSubstr("[[stage]]"));
}

TEST_P(Seeds, CanonicalOrderDoesNotDependOnTheOrderOfTheNodes) {
  Random random(GetParam());
  for (int i = 0; i < 50; ++i) {
    const Pipeline pipeline = random_graph(random, 1 + below(random, 12));
    // Another topological order: picks nodes at random whose inputs are already placed.
    Pipeline shuffled;
    std::vector<int> place(pipeline.nodes.size(), -1);
    while (shuffled.nodes.size() < pipeline.nodes.size()) {
      const std::size_t n = below(random, pipeline.nodes.size());
      const auto placed = [&](int input) { return Node::is_video(input) || place[input] >= 0; };
      if (place[n] >= 0 || !std::ranges::all_of(pipeline.nodes[n].inputs, placed)) continue;
      Node node = pipeline.nodes[n];
      for (int& input : node.inputs) {
        if (!Node::is_video(input)) input = place[input];
      }
      place[n] = static_cast<int>(shuffled.nodes.size());
      shuffled.nodes.push_back(std::move(node));
    }
    EXPECT_EQ(canonical(shuffled), pipeline);
  }
}

TEST(Canonical, DropsNodesThatDoNotLeadToTheOutput) {
  Pipeline pipeline = parsed("blur | binary | sobel_x");
  pipeline.nodes[2].inputs = {0};
  EXPECT_EQ(canonical(pipeline), parsed("blur | sobel_x"));
}

// Numbers are read and written the same way in locales with a decimal comma.
TEST(PipelineLanguage, IsTheSameInEveryLocale) {
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  const std::locale before = std::locale::global(std::locale(std::locale(), new Comma));
  const Pipeline pipeline = parsed("rotate(0.5) | discretise(65536)");
  EXPECT_EQ(to_language(pipeline), "rotate(0.5) | discretise(65536)");
  EXPECT_THAT(error_of("rotate(1000.5)"), HasSubstr("-360 to 360, not '1000.5'"));
  std::locale::global(before);
}

TEST(Presets, AreCanonicalPipelines) {
  EXPECT_EQ(presets().size(), 7U);
  for (const Preset& preset : presets()) {
    EXPECT_EQ(to_language(parsed(preset.text)), preset.text) << preset.name;
    EXPECT_EQ(must(load_pipeline(preset.name)), parsed(preset.text));
  }
}

TEST(LoadPipeline, ReadsTextOfTheLanguage) {
  EXPECT_EQ(must(load_pipeline("blur|binary")), parsed("blur | binary"));
}

TEST(LoadPipeline, NamesThePresetsForAnUnknownOne) {
  for (std::string_view name : {"@H", "@a", "@", "@A | blur"}) {
    const auto loaded = load_pipeline(name);
    ASSERT_FALSE(loaded) << name;
    EXPECT_EQ(loaded.error().kind, ErrorKind::usage);
    EXPECT_THAT(loaded.error().message,
                HasSubstr(fmt::format("unknown preset '{}'; the presets are @A to @G", name)));
  }
}

TEST(NearestName, ForgivesOneSlipAndIgnoresStrangers) {
  const std::vector<std::string_view> names{"blur", "binary", "rotate", "t"};
  for (std::string_view slip : {"blu", "bblur", "bulr", "BLUR", "blor"})
    EXPECT_EQ(nearest_name(slip, names), "blur");
  EXPECT_EQ(nearest_name("rotat", names), "rotate");
  EXPECT_EQ(nearest_name("tt", names), "t");
  for (std::string_view stranger : {"", "x", "median", "undistort"})
    EXPECT_EQ(nearest_name(stranger, names), std::nullopt);
  EXPECT_EQ(nearest_name("blur", {}), std::nullopt);
}

// A filter whose name is also a word of the language or TOML could never be used.
TEST(Filters, HaveNamesThatBothLanguagesCanWrite) {
  const auto is_name = [](std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
  };
  for (const Filter& filter : all_filters()) {
    EXPECT_TRUE(is_name(filter.name)) << filter.name;
    EXPECT_NE(filter.name, identity_branch);
    EXPECT_NE(filter.name, second_video);
    EXPECT_GE(filter.inputs, 1) << filter.name;
    for (const Parameter& parameter : filter.parameters) {
      EXPECT_TRUE(is_name(parameter.name)) << filter.name << ' ' << parameter.name;
      for (std::string_view key : {"filter", "name", "input", "inputs"})
        EXPECT_NE(parameter.name, key) << filter.name;
      for (std::string_view choice : parameter.choices)
        EXPECT_TRUE(is_name(choice)) << filter.name << ' ' << choice;
      EXPECT_LE(parameter.minimum, parameter.maximum) << filter.name << ' ' << parameter.name;
    }
  }
}

}  // namespace
}  // namespace millrace::image
