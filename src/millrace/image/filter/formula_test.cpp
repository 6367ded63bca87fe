#include "millrace/image/filter/formula.h"
#include "millrace/image/filter/formula_filter.h"
#include "millrace/image/filters/filter_testing.h"
#include "millrace/image/filters/formula_testing.h"
#include "millrace/image/kernel/compiler_message.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

using ::testing::HasSubstr;

TEST(Formulas, AreReadFromTheirText) {
  for (const char* text :
       {"inputs 1 coefficients 0; pixel 0 0 0",
        "inputs 2 coefficients 1; pixel 0 1 -1; pixel 1 0 0; coefficient 0; constant 3f000000; "
        "multiply 1 2; less 0 4; less_equal 3 0; both 5 6; select 7 0 3"}) {
    const auto formula = Formula::parse(text);
    ASSERT_TRUE(formula) << formula.error().message;
    EXPECT_EQ(formula->text(), text);
    EXPECT_EQ(Formula::parse(formula->text())->identity(), formula->identity());
  }
  EXPECT_NE(own_formula("pixel 0 0 0")->identity(), own_formula("pixel 0 1 0")->identity());
}

TEST(Formulas, OfRandomOperationsAreReadFromTheirText) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    const Formula formula = random_formula(random, 1 + static_cast<int>(below(random, 2)), 30);
    const auto again = Formula::parse(formula.text());
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->operations(), formula.operations());
    EXPECT_EQ(again->text(), formula.text());
  }
}

TEST(Formulas, AreReadFromNothingElse) {
  const std::string text = "inputs 1 coefficients 1; pixel 0 -1 0; coefficient 0; multiply 0 1";
  ASSERT_TRUE(Formula::parse(text));
  const std::pair<const char*, const char*> wrong[] = {
      {"", "no formula"},
      {"inputs 1 coefficients 0", "1 to 1024 operations"},
      {"inputs 0 coefficients 0; pixel 0 0 0", "1 to 4 inputs"},
      {"inputs 1 coefficients 9; pixel 0 0 0", "0 to 8 coefficients"},
      {"inputs 2 coefficients 0; pixel 0 0 0", "does not read input 1"},
      {"inputs 1 coefficients 0; pixel 1 0 0", "names no input"},
      {"inputs 1 coefficients 0; pixel 0 65 0", "more than 64 pixels away"},
      {"inputs 1 coefficients 0; pixel 0 0 -2147483648", "more than 64 pixels away"},
      {"inputs 1 coefficients 0; pixel 0 0 0; coefficient 0", "names none"},
      {"inputs 1 coefficients 0; pixel 0 0 0; add 0 1", "does not come before"},
      {"inputs 1 coefficients 0; pixel 0 0 0; add 0 -1", "does not come before"},
      {"inputs 1 coefficients 0; pixel 0 0 0; less 0 0", "ends with a number"},
      {"inputs 1 coefficients 0; pixel 0 0 0; less 0 0; add 0 1", "a condition for a number"},
      {"inputs 1 coefficients 0; pixel 0 0 0; select 0 0 0", "a number for a condition"},
      {"inputs 1 coefficients 0; pixel 0 0 0; constant 7f800000; add 0 1", "finite"},
      {"inputs 1 coefficients 0; pixel 0 0 0; power 0 0", "'power'"}};
  for (const auto& [what, words] : wrong) {
    const auto formula = Formula::parse(what);
    ASSERT_FALSE(formula) << what;
    EXPECT_THAT(formula.error().message, HasSubstr(words)) << what;
    EXPECT_THAT(formula.error().message, ::testing::Not(HasSubstr("\n")));
  }
  // Damage anywhere is an Error or another formula, and never more than that.
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char c : {'0', ' ', ';', '-', 'x', '\n', '\0'}) {
      std::string damaged = text;
      damaged[i] = c;
      static_cast<void>(Formula::parse(damaged));
      static_cast<void>(Formula::parse(std::string_view(text).substr(0, i)));
    }
  }
}

// Of 3x3 pixels, by hand: the lower right neighbour less the upper left one, edges repeated.
TEST(Formulas, ReadPixelsAtADistance) {
  const FilterRef filter = own_filter("pixel 0 1 1; pixel 0 -1 -1; subtract 0 1");
  EXPECT_EQ(filter->access, Access::stencil);
  EXPECT_EQ(apply_filter(*filter, {}, {one_to_nine}, gray({3, 3})).pixels,
            (std::vector<float>{4, 5, 4, 7, 8, 7, 4, 5, 4}));
}

TEST(Formulas, KnowWhereThePixelIs) {
  const FilterRef filter =
      own_filter("pixel 0 0 0; constant 00000000; multiply 0 1; column; row; width; height; multiply 4 5; "
                 "add 3 7; add 8 2; divide 9 6");
  const ScalarImage made = apply_filter(*filter, {}, {one_to_nine}, gray({3, 3}));
  EXPECT_FLOAT_EQ(made.at(2, 1), 5.0F / 3.0F);
}

// What later filters get are numbers.
TEST(Formulas, HoldTheirResultWithinALimit) {
  const FilterRef root = own_filter("pixel 0 0 0; sqrt 0");
  const FilterRef quotient = own_filter("pixel 0 0 0; constant 00000000; divide 0 1");
  const ScalarImage image{.size = {3, 1}, .pixels = {-1.0F, 0.0F, 1.0F}};
  EXPECT_EQ(apply_filter(*root, {}, {image}, gray({3, 1})).pixels,
            (std::vector<float>{-formula_limit, 0, 1}));
  EXPECT_EQ(apply_filter(*quotient, {}, {image}, gray({3, 1})).pixels,
            (std::vector<float>{-formula_limit, -formula_limit, formula_limit}));
}

TEST(FormulaFilters, DeclareHowFarTheyRead) {
  EXPECT_EQ(own_filter("pixel 0 0 0")->access, Access::pointwise);
  EXPECT_EQ(own_filter("pixel 0 0 -1")->access, Access::stencil);
  const FilterRef far = own_filter("pixel 0 5 0; pixel 0 0 -3; add 0 1");
  EXPECT_EQ(far->access, Access::window);
  const auto layout =
      lay_out_plane({.nodes = {{.filter = far, .values = {}, .inputs = {Node::source}}}}, gray({20, 20}));
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(layout->stages[0].required({4, 10, 8, 12}), (Rect{4, 7, 13, 12}));
  // Along the edge, where what it reads is repeated.
  EXPECT_EQ(layout->stages[0].required({18, 0, 20, 1}), (Rect{18, 0, 20, 1}));
}

TEST(FormulaFilters, SayWhatIsWrongWithThem) {
  const auto refusal = [](const std::function<void(FormulaFilterDraft&)>& spoil) {
    FormulaFilterDraft draft{.name = "mine",
                             .parameters = {{.name = "t"}},
                             .formula = own_formula("pixel 0 0 0; coefficient 0; add 0 1", 1, 1)};
    spoil(draft);
    const auto made = make_formula_filter(std::move(draft));
    return made ? std::string() : made.error().message;
  };
  EXPECT_EQ(refusal([](auto&) {}), "");
  EXPECT_THAT(refusal([](auto& draft) { draft.name = "Mine"; }), HasSubstr("'Mine' is no name"));
  EXPECT_THAT(refusal([](auto& draft) { draft.name = "a|b"; }), HasSubstr("is no name"));
  EXPECT_THAT(refusal([](auto& draft) { draft.parameters[0].name = ""; }), HasSubstr("is no name"));
  EXPECT_THAT(refusal([](auto& draft) { draft.parameters[0].maximum = -1; }), HasSubstr("no range"));
  EXPECT_THAT(refusal([](auto& draft) { draft.parameters[0].maximum = INFINITY; }), HasSubstr("no range"));
  EXPECT_THAT(refusal([](auto& draft) { draft.parameters[0].fallback = 2; }), HasSubstr("default outside"));
  EXPECT_THAT(refusal([](auto& draft) { draft.parameters.push_back({.name = "t"}); }),
              HasSubstr("there twice"));
  EXPECT_THAT(refusal([](auto& draft) { draft.parameters.clear(); }), HasSubstr("0 parameters"));
}

TEST(FormulaFilters, AreToldToTheCompilerByWhatTheyAre) {
  const FilterRef filter = own_filter("pixel 0 0 0; pixel 0 1 0; add 0 1");
  KernelSpec spec{.stages = {{.filter = find_simple_filter("blur"), .inputs = {-1}},
                             {.filter = filter, .inputs = {0}},
                             {.filter = filter, .inputs = {1}}}};
  EXPECT_THAT(spec.key(), HasSubstr("blur(i0);own:"));
  const auto request = parse_request(request_text(spec, machine::Isa::baseline));
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->spec.key(), spec.key());
  EXPECT_EQ(request->spec.stages[1].filter->formula->text(), filter->formula->text());
  EXPECT_FALSE(parse_kernel_spec(spec.key()));
  const std::string text = request_text(spec, machine::Isa::baseline);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] ^= 1;
    static_cast<void>(parse_request(damaged));
    static_cast<void>(parse_request(std::string_view(text).substr(0, i)));
  }
}

TEST(OwnFilters, AreNamedByThePipelinesTheyAreGivenTo) {
  const std::vector<FilterRef> own{own_filter("pixel 0 0 0; coefficient 0; add 0 1", 1)};
  const auto pipeline = load_pipeline("blur | own(0.5) | binary", {}, own);
  ASSERT_TRUE(pipeline) << pipeline.error().message;
  EXPECT_EQ(pipeline->nodes[1].filter, own[0]);
  EXPECT_EQ(to_string(*pipeline), "blur | own(0.5) | binary");
  EXPECT_FALSE(load_pipeline("own(0.5)"));
  EXPECT_THAT(load_pipeline("ownn(0.5)", {}, own).error().message, HasSubstr("did you mean 'own'"));
  EXPECT_THAT(load_pipeline("own(2)", {}, own).error().message, HasSubstr("from 0 to 1"));
  const auto toml = parse_pipeline_toml("[[stage]]\nfilter = \"own\"\nt = 0.5\n", "x.toml", own);
  ASSERT_TRUE(toml) << toml.error().message;
  EXPECT_EQ(to_string(*toml), "own(0.5)");
}

TEST(OwnFilters, HaveNamesThatAreFree) {
  const auto named = [](const char* name) {
    return *make_formula_filter({.name = name, .formula = own_formula("pixel 0 0 0")});
  };
  EXPECT_TRUE(check_own_filters(std::vector{named("mine"), named("yours")}));
  EXPECT_THAT(check_own_filters(std::vector{named("blur")}).error().message, HasSubstr("already"));
  EXPECT_THAT(check_own_filters(std::vector{named("input")}).error().message, HasSubstr("branch"));
  EXPECT_THAT(check_own_filters(std::vector{named("mine"), named("mine")}).error().message, HasSubstr("two"));
}

}  // namespace
}  // namespace millrace::image
