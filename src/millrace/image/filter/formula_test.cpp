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
      {"inputs 9 coefficients 0; pixel 0 0 0", "at most 8 inputs"},
      {"inputs 0 coefficients 0; pixel 0 0 0", "names no input"},
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
      {"inputs 1 coefficients 0; pixel 0 0 0; pixel_at 0 0 1", "names no input"},
      {"inputs 1 coefficients 0; pixel 0 0 0; loop 0 0; end 1", "not repeated as often for every pixel"},
      {"inputs 1 coefficients 0; pixel 0 0 0; column; loop 1 0; end 1", "not repeated as often"},
      {"inputs 1 coefficients 0; pixel 0 0 0; width; loop 1 0; add 2 0", "has no end"},
      {"inputs 1 coefficients 0; pixel 0 0 0; end 0", "ends no loop"},
      {"inputs 1 coefficients 0; pixel 0 0 0; step 0", "names no loop that is around"},
      {"inputs 1 coefficients 0; pixel 0 0 0; width; loop 1 0; end 2; step 2; add 4 0", "names no loop"},
      {"inputs 1 coefficients 0; pixel 0 0 0; width; loop 1 0; add 2 0; end 3; add 3 4", "loop that is over"},
      {"inputs 1 coefficients 0; pixel 0 0 0; width; loop 1 0; end 2; add 2 3", "loop that is over"},
      {"inputs 1 coefficients 0; pixel 0 0 0; width; loop 1 0; loop 1 0; loop 1 0; loop 1 0; add 0 0",
       "within more than 2 others"},
      {"inputs 1 coefficients 0; pixel 0 0 0; power 0 0", "'power'"}};
  for (const auto& [what, words] : wrong) {
    const auto formula = Formula::parse(what);
    ASSERT_FALSE(formula) << what;
    EXPECT_THAT(formula.error().message, HasSubstr(words)) << what;
    EXPECT_THAT(formula.error().message, ::testing::Not(HasSubstr("\n")));
  }
  // Any damage gives an Error or another formula, never a crash.
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char c : {'0', ' ', ';', '-', 'x', '\n', '\0'}) {
      std::string damaged = text;
      damaged[i] = c;
      static_cast<void>(Formula::parse(damaged));
      static_cast<void>(Formula::parse(std::string_view(text).substr(0, i)));
    }
  }
}

// 3x3 pixels, computed by hand: the lower right neighbour minus the upper left one, edges replicated.
TEST(Formulas, ReadPixelsAtADistance) {
  const FilterRef filter = own_filter("pixel 0 1 1; pixel 0 -1 -1; subtract 0 1");
  EXPECT_EQ(filter->simple().access, Access::stencil);
  EXPECT_EQ(apply_filter(*filter, {}, {one_to_nine}, gray({3, 3})).pixels,
            (std::vector<float>{4, 5, 4, 7, 8, 7, 4, 5, 4}));
}

TEST(Formulas, ReadPixelsAtPlacesThatTheyCompute) {
  // Places between each row and the next, rounded down. Places far outside read the nearest pixel.
  EXPECT_EQ(
      apply_filter(*own_filter("row; constant 3fc00000; pixel_at 1 0 0"), {}, {one_to_nine}, gray({3, 3}))
          .pixels,
      (std::vector<float>{2, 2, 2, 5, 5, 5, 8, 8, 8}));
  EXPECT_EQ(apply_filter(*own_filter("constant fe967699; constant 7e967699; pixel_at 1 0 0"), {},
                         {one_to_nine}, gray({3, 3}))
                .pixels,
            std::vector<float>(9, 3.0F));
}

// By hand: each step multiplies the value so far by 10 and adds a table element.
TEST(Formulas, GoThroughTheirTableInALoop) {
  const FilterRef filter = own_filter(
      own_formula(
          "pixel 0 0 0; constant 40400000; constant 41200000; loop 1 0; step 3; table 4; multiply 3 2; "
          "add 6 5; end 7; constant 42c80000; table 9; add 8 10"),
      {1, 2, 3, 4});
  // ((p * 10 + 1) * 10 + 2) * 10 + 3, and the last number of the table.
  EXPECT_EQ(apply_filter(*filter, {}, {ScalarImage{.size = {2, 1}, .pixels = {0, 1}}}, gray({2, 1})).pixels,
            (std::vector<float>{127, 1127}));
}

TEST(Formulas, KnowWhereThePixelIs) {
  const FilterRef filter =
      own_filter("pixel 0 0 0; constant 00000000; multiply 0 1; column; row; width; height; multiply 4 5; "
                 "add 3 7; add 8 2; divide 9 6");
  const ScalarImage made = apply_filter(*filter, {}, {one_to_nine}, gray({3, 3}));
  EXPECT_FLOAT_EQ(made.at(2, 1), 5.0F / 3.0F);
}

// Later filters must get numbers, never NaN or infinity.
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
  EXPECT_EQ(own_filter("pixel 0 0 0")->simple().access, Access::pointwise);
  EXPECT_EQ(own_filter("pixel 0 0 -1")->simple().access, Access::stencil);
  const FilterRef far = own_filter("pixel 0 5 0; pixel 0 0 -3; add 0 1");
  EXPECT_EQ(far->simple().access, Access::window);
  const auto layout =
      lay_out_plane({.nodes = {{.filter = far, .values = {}, .inputs = {Node::source}}}}, gray({20, 20}));
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(layout->stages[0].required({4, 10, 8, 12}), (Rect{4, 7, 13, 12}));
  // At the edge, where reads are replicated.
  EXPECT_EQ(layout->stages[0].required({18, 0, 20, 1}), (Rect{18, 0, 20, 1}));
}

// Returns noise as pixels, and records which ones were read.
class RememberedReads final : public PixelSource {
 public:
  float read(int /*input*/, int x, int y) override {
    reads.push_back({x, y, x + 1, y + 1});
    return static_cast<float>((x * 7 + y * 13) % 11) - 3;
  }
  std::vector<Rect> reads;
};

TEST(FormulaFilters, DeclareAllThatTheyRead) {
  Random random(11);
  const Size frame{23, 17};
  for (int round = 0; round < 300; ++round) {
    const std::vector<float> table{0.5F, -4, 9, 2.25F};
    const FilterRef filter =
        own_filter(std::make_shared<const Formula>(random_formula(random, 1, 30, 2, true)), table);
    const PlaneGeometry plane = gray(frame);
    const Coefficients coefficients = filter->simple().coefficients(plane, {0.75, 0.25});
    const int x0 = static_cast<int>(below(random, 20));
    const int y0 = static_cast<int>(below(random, 14));
    const Rect output{x0, y0, x0 + 1 + static_cast<int>(below(random, 3)),
                      y0 + 1 + static_cast<int>(below(random, 3))};
    RememberedReads source;
    ScalarAlgebra algebra(source, plane, coefficients);
    for (int y = output.y0; y < output.y1; ++y) {
      for (int x = output.x0; x < output.x1; ++x)
        static_cast<void>(filter->simple().pixel(algebra, x, y));
    }
    const Rect declared = filter->simple().footprint(output, plane, coefficients);
    for (const Rect& read : source.reads) {
      // A place past an edge within the declared reach reads the pixel at the edge.
      const Rect whole_frame = whole(frame);
      const Rect covered =
          bounding(intersection(declared, whole_frame),
                   {std::clamp(declared.x0, 0, frame.width - 1), std::clamp(declared.y0, 0, frame.height - 1),
                    std::clamp(declared.x0, 0, frame.width - 1) + 1,
                    std::clamp(declared.y0, 0, frame.height - 1) + 1});
      ASSERT_TRUE(covered.contains(read)) << filter->simple().formula->text();
    }
  }
}

TEST(FormulaFilters, KnowHowFarAwayPlacesAreThatPixelsSay) {
  const auto declared = [](const char* operations) {
    const FilterRef filter = own_filter(operations);
    return filter->simple().footprint({10, 10, 14, 11}, gray({100, 80}),
                                      filter->simple().coefficients(gray({100, 80}), {}));
  };
  // Clamped to +-3, as by clip().
  EXPECT_EQ(
      declared("pixel 0 0 0; constant c0400000; maximum 0 1; constant 40400000; minimum 2 3; column; add "
               "5 4; row; pixel_at 6 7 0"),
      (Rect{7, 10, 17, 11}));
  EXPECT_EQ(declared("pixel 0 0 0; row; pixel_at 0 1 0").width(), 102);
  // Half the size.
  EXPECT_EQ(declared("column; constant 40000000; multiply 0 1; row; pixel_at 2 3 0"), (Rect{20, 10, 27, 11}));
  // With a loop.
  EXPECT_EQ(
      declared(
          "constant 40800000; constant 00000000; loop 0 1; step 2; column; add 4 3; row; pixel_at 5 6 0; "
          "add 2 7; end 8"),
      (Rect{10, 10, 17, 11}));
}

// A regression: this took half a second for each tile. So many tiles would then take longer than any test
// may.
TEST(FormulaFilters, KnowSoonHowFarAwayPlacesAreThatALongTableSays) {
  std::vector<float> table(most_table_numbers);
  table[most_table_numbers / 2] = 7;
  // A thousand steps: column + table[pixel + step], and column + table[column * 65536 + step].
  for (const char* const operations :
       {"pixel 0 0 0; constant 447a0000; constant 00000000; loop 1 2; step 3; add 0 4; table 5; column; add "
        "7 6; "
        "row; pixel_at 8 9 0; add 3 10; end 11",
        "pixel 0 0 0; constant 447a0000; constant 47800000; loop 1 0; column; multiply 4 2; step 3; add 5 6; "
        "table 7; add 4 8; row; pixel_at 9 10 0; add 3 11; end 12"}) {
    const FilterRef filter = own_filter(own_formula(operations), table);
    const Coefficients coefficients = filter->simple().coefficients(gray({100, 80}), {});
    for (int tile = 0; tile < 5000; ++tile)
      ASSERT_TRUE(filter->simple()
                      .footprint({10, 10, 14, 11}, gray({100, 80}), coefficients)
                      .contains({10, 10, 21, 11}));
  }
}

FormulaFilterDraft scaled_draft(const char* width, const char* height) {
  const auto measure = [](const char* text) {
    return std::make_shared<const Formula>(*Formula::parse(text));
  };
  return {.name = "scaled",
          .parameters = {{.name = "by", .minimum = 0, .maximum = 1e6}},
          .formula =
              own_formula("column; width; multiply 0 1; coefficient 1; divide 2 3; row; pixel_at 4 5 0", 3),
          .measure = {measure(width), measure(height)}};
}

TEST(FormulaFilters, MakeTheSizeThatTheySay) {
  const auto filter = *make_formula_filter(scaled_draft(
      "inputs 0 coefficients 1; width; coefficient 0; multiply 0 1", "inputs 0 coefficients 1; height"));
  EXPECT_TRUE(filter->geometric);
  PlaneGeometry chroma{.size = {5, 4}, .luma = {9, 8}, .step_x = 2, .step_y = 2};
  const auto made = filter->output(chroma, {1.25});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->luma, (Size{11, 8}));
  EXPECT_EQ(made->size, (Size{6, 4}));
  EXPECT_EQ(apply_filter(*filter, {2}, {one_to_nine}, gray({3, 3})).pixels,
            (std::vector<float>{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9}));
  for (const double by : {0.0, 1e6})
    EXPECT_THAT(filter->output(gray({9, 8}), {by}).error().message, HasSubstr("a frame of 9x8 would become"));
}

// A frame that has been started cannot be interrupted.
TEST(FormulaFilters, AreRefusedThatTakeLongerForAPixelThanAnybodyWaits) {
  const auto filter = own_filter("pixel 0 0 0; coefficient 0; constant 41800000; multiply 1 2; width; "
                                 "constant 43800000; loop 3 0; loop 5 "
                                 "6; loop 4 7; add 8 0; end 9; end 10; end 11",
                                 1);
  EXPECT_TRUE(filter->output(gray({3, 3}), {1}));
  const auto refused = filter->output(gray({2000, 3}), {1});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("8196112 steps for each pixel of a plane of 2000x3; 1048576 is"));
  EXPECT_TRUE(filter->output(gray({2000, 3}), {0}));

  const char* const endless =
      "inputs 0 coefficients 1; constant 45800000; width; loop 0 1; loop 0 2; add 3 1; end 4; end 5";
  const auto sized = make_formula_filter(scaled_draft(endless, "inputs 0 coefficients 1; height"));
  ASSERT_TRUE(sized);
  EXPECT_THAT((*sized)->output(gray({9, 8}), {1}).error().message, HasSubstr("16781312 steps"));
}

TEST(FormulaFilters, SayWhatIsWrongWithTheirSizeListOrFrames) {
  const char* const width = "inputs 0 coefficients 1; width";
  EXPECT_TRUE(make_formula_filter(scaled_draft(width, width)));
  const auto refusal = [&](const std::function<void(FormulaFilterDraft&)>& spoil) {
    FormulaFilterDraft draft = scaled_draft(width, width);
    spoil(draft);
    const auto made = make_formula_filter(std::move(draft));
    return made ? std::string() : made.error().message;
  };
  EXPECT_THAT(refusal([](auto& draft) { draft.measure.height = nullptr; }), HasSubstr("one direction"));
  EXPECT_THAT(refusal([](auto& draft) { draft.measure.height = own_formula("pixel 0 0 0", 1); }),
              HasSubstr("reads pixels"));
  EXPECT_THAT(refusal([](auto& draft) { draft.formula = own_formula("pixel 0 0 0", 3); }),
              HasSubstr("pixel_at"));
  EXPECT_THAT(refusal([](auto& draft) { draft.chroma = ChromaDefault::passes; }),
              HasSubstr("has a size and passes chroma"));
  EXPECT_EQ(refusal([](auto& draft) { draft.chroma = ChromaDefault::neutral; }), "");
  EXPECT_THAT(refusal([](auto& draft) { draft.formula = own_formula("width; table 0; pixel_at 0 1 0", 3); }),
              HasSubstr("table and has none"));
  EXPECT_THAT(refusal([](auto& draft) { draft.times = {-1, 0}; }), HasSubstr("2 frames"));
  EXPECT_THAT(refusal([](auto& draft) { draft.times = {-33}; }), HasSubstr("more than 32 away"));
  EXPECT_THAT(refusal([](auto& draft) { draft.table = {NAN}; }), HasSubstr("number 0 of its table"));
  EXPECT_THAT(refusal([](auto& draft) {
                draft.parameters[0].type = ParameterType::list;
                draft.parameters[0].fallback = 1;
              }),
              HasSubstr("lists cannot have one"));
  EXPECT_THAT(refusal([](auto& draft) {
                draft.parameters[0].type = ParameterType::list;
                draft.parameters.push_back({.name = "t"});
              }),
              HasSubstr("not its last"));
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
  EXPECT_THAT(refusal([](auto& draft) { draft.name = "Mine"; }), HasSubstr("'Mine' is not a valid name"));
  EXPECT_THAT(refusal([](auto& draft) { draft.name = "a|b"; }), HasSubstr("is not a valid name"));
  EXPECT_THAT(refusal([](auto& draft) { draft.parameters[0].name = ""; }), HasSubstr("is not a valid name"));
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
  EXPECT_EQ(request->spec.stages[1].filter->simple().formula->text(), filter->simple().formula->text());
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
  for (const char* branch : {"input", "second"})
    EXPECT_THAT(check_own_filters(std::vector{named(branch)}).error().message, HasSubstr("branch"));
  EXPECT_THAT(check_own_filters(std::vector{named("mine"), named("mine")}).error().message, HasSubstr("two"));
}

}  // namespace
}  // namespace millrace::image
