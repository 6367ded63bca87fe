// Filters made at run time give the bits of the scalar reference in every schedule, compiled or not.
#include "millrace/base/testing/temporary_folder_testing.h"
#include "millrace/image/execute/structures_testing.h"
#include "millrace/image/filters/formula_testing.h"
#include "millrace/image/kernel/formula_kernel.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

#ifdef MILLRACE_SANITIZED
constexpr int random_rounds = 20;
#else
constexpr int random_rounds = 200;
#endif

// Every operation, including special cases: ties of rint, both zeros, roots of negative numbers.
const char* const every_operation =
    "pixel 0 0 0; pixel 0 1 -1; pixel 0 -1 0; coefficient 0; constant 42ff0000; multiply 0 4; rint 5; floor "
    "5; "
    "subtract 6 7; subtract 0 1; sqrt 9; divide 9 10; absolute 9; minimum 11 12; maximum 13 2; column; row; "
    "width; "
    "height; divide 15 17; divide 16 18; multiply 19 20; add 14 21; less 0 1; less_equal 1 2; equal 6 5; "
    "not_equal 2 0; both 23 24; either 25 26; both 27 28; select 27 22 3; select 28 30 11; select 29 8 31; "
    "multiply 8 12; add 32 33";

const std::vector<float> some_table{0.25F, -3.0F, 0.0F, 17.5F, 1.0F};

class FormulaStructures : public Structures {
 protected:
  static Pipeline pipeline_of(std::string_view text, const std::vector<FilterRef>& own) {
    return must(load_pipeline(text, {}, own));
  }
  static Result<FrameLayout> lay_out(const Pipeline& pipeline, Size size, Samples samples = Samples::floats) {
    return lay_out_frame(pipeline,
                         {.width = size.width, .height = size.height, .chroma = video::Chroma::gray},
                         Planes::all, samples);
  }
};

TEST_F(FormulaStructures, HaveTheBitsOfTheReferenceWithoutACompiler) {
  Random random(20250711);
  KernelLibrary none({.cache = {}, .compiler = {.program = "/nowhere"}});
  for (int round = 0; round < random_rounds; ++round) {
    const int inputs = 1 + static_cast<int>(below(random, 2));
    const FilterRef filter =
        own_filter(std::make_shared<const Formula>(
                       random_formula(random, inputs, 3 + static_cast<int>(below(random, 60)), 2, true)),
                   some_table);
    const Pipeline pipeline =
        pipeline_of(inputs == 1 ? "crop(0.9) | own(0.3, 0.7)" : "[input, blur] | own(0.3, 0.7)", {filter});
    const Size sizes[] = {{1, 1}, {2, 7}, {37, 19}, {300, 3}};
    const auto layout = lay_out(pipeline, sizes[below(random, std::size(sizes))]);
    if (!layout) continue;
    TestFrame frame(*layout, static_cast<unsigned>(round));
    Executor executor(*pool_, none, *topology_, topology_->cpus());
    const Structure structures[] = {Structure::sequential, Structure::tiled, Structure::sliding,
                                    Structure::backward_cached};
    ASSERT_TRUE(executor.set(*layout, {.structure = structures[round % 4],
                                       .fusion = Fusion::none,
                                       .tile = {16, 8},
                                       .threads = 2,
                                       .isa = machine::best_isa()}));
    EXPECT_FALSE(executor.stand_in());
    frame.clear();
    ASSERT_TRUE(executor.run({&frame.task, 1}));
    ASSERT_EQ(frame.difference(), "") << filter->simple().formula->text();
  }
}

class EveryOperation : public FormulaStructures, public ::testing::WithParamInterface<machine::Isa> {};

TEST_P(EveryOperation, HasTheBitsOfTheReferenceCompiled) {
  const std::vector<FilterRef> own{own_filter(every_operation, 1)};
  Random random(3);
  std::vector<FilterRef> more = own;
  // One filter is random, each time with other operations, so that infinities and NaN pass through all of
  // them.
  more[0] = own_filter(std::make_shared<const Formula>(random_formula(random, 1, 40, 2, true)), some_table);
  for (const auto& [text, filters] : {std::pair{"own(0.4)", own}, std::pair{"own(0.4, 0.2)", more}}) {
    const auto layout = lay_out(pipeline_of(text, filters), {67, 35});
    ASSERT_TRUE(layout) << layout.error().message;
    TestFrame frame(*layout, 9);
    for (const Size tile : {Size{0, 0}, Size{16, 8}, Size{5, 3}}) {
      expect_reference(frame, {.structure = Structure::tiled,
                               .fusion = Fusion::none,
                               .tile = tile,
                               .threads = 2,
                               .isa = GetParam()});
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_EQ(library_.compiled(), 2);
  EXPECT_FALSE(library_.first_error());
}

INSTANTIATE_TEST_SUITE_P(Isas, EveryOperation, ::testing::ValuesIn(isas_here()),
                         [](const auto& instance) { return std::string(machine::name_of(instance.param)); });

// Fused with each other and with built-in filters; stored; read by stencils and gathers.
TEST_F(FormulaStructures, HaveTheBitsOfTheReferenceInEveryScheduleFused) {
  const std::vector<FilterRef> own{
      *make_formula_filter({.name = "edges",
                            .parameters = {{.name = "t", .minimum = -4, .maximum = 4}},
                            .formula = own_formula("pixel 0 1 0; pixel 0 -1 0; pixel 0 0 0; subtract 0 1; "
                                                   "coefficient 0; multiply 3 4; add 2 5",
                                                   1)}),
      *make_formula_filter(
          {.name = "mean",
           .formula =
               own_formula("pixel 0 0 0; pixel 1 0 -1; add 0 1; constant 3f000000; multiply 2 3", 0, 2)})};
  const Pipeline pipeline = pipeline_of("blur | [edges(0.3), edges(-0.5)] | mean | rotate(9)", own);
  const auto layout = lay_out(pipeline, {61, 43}, Samples::codes);
  ASSERT_TRUE(layout) << layout.error().message;
  TestFrame frame(*layout, 21);
  const Size tiles[] = {{0, 0}, {16, 8}, {24, 0}};
  std::size_t turn = 0;
  for (Structure structure : all_structures()) {
    for (Fusion fusion : all_fusions()) {
      if (is_one_kernel(structure) && (fusion != Fusion::all || !fits_one_kernel(layout->planes[0])))
        continue;
#ifdef MILLRACE_SANITIZED
      if (fusion == Fusion::stencil || is_one_kernel(structure)) continue;
#endif
      expect_reference(frame, {.structure = structure,
                               .fusion = fusion,
                               .tile = tiles[turn++ % std::size(tiles)],
                               .threads = structure_workers,
                               .isa = machine::best_isa()});
      if (HasFatalFailure()) return;
    }
  }
}

// NaN and infinities made by one filter reach the next one as the same numbers in every structure and on
// every instruction set.
TEST_F(FormulaStructures, HaveTheBitsOfTheReferenceWhereAFilterMakesNanAndInfinities) {
  // The root of a negative number is NaN. Division by 0 gives NaN and both infinities.
  for (const char* operations :
       {"pixel 0 0 0; constant 3f000000; subtract 0 1; sqrt 2",
        "pixel 0 0 0; constant 3f000000; subtract 0 1; constant 00000000; divide 2 3",
        "pixel 0 0 0; constant 3f000000; subtract 0 1; sqrt 2; constant 00000000; divide 3 4"}) {
    const Pipeline pipeline = pipeline_of("own | blur | own | rotate(9)", {own_filter(operations)});
    const auto layout = lay_out(pipeline, {61, 43});
    ASSERT_TRUE(layout) << layout.error().message;
    TestFrame frame(*layout, 5);
    EXPECT_TRUE(std::ranges::all_of(frame.expected[0].pixels, [](float v) { return std::isfinite(v); }));
    EXPECT_LT(std::ranges::min(frame.expected[0].pixels), -0x1p30F);
    const std::vector<machine::Isa> isas = isas_here();
    std::size_t turn = 0;
    for (Structure structure : all_structures()) {
      for (Fusion fusion : {Fusion::none, Fusion::all}) {
        if (is_one_kernel(structure) && (fusion != Fusion::all || !fits_one_kernel(layout->planes[0])))
          continue;
#ifdef MILLRACE_SANITIZED
        if (is_one_kernel(structure)) continue;
#endif
        expect_reference(frame, {.structure = structure,
                                 .fusion = fusion,
                                 .tile = {16, 8},
                                 .threads = structure_workers,
                                 .isa = isas[turn++ % isas.size()]});
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Halide folds constants, also those of one filter into the next.
TEST_F(FormulaStructures, HaveTheBitsOfTheReferenceWhereTheyDivideByConstantsSuchAsZero) {
  std::vector<Formula> formulas;
  for (const char* operations :
       {"pixel 0 0 0; constant 00000000; divide 0 1", "pixel 0 0 0; constant 80000000; divide 0 1",
        "pixel 0 0 0; constant 40000000; subtract 1 1; divide 0 2", "pixel 0 0 0; subtract 0 0; divide 0 1",
        "pixel 0 0 0; constant 00000000; divide 1 1; maximum 2 0",
        "pixel 0 0 0; constant 00000000; minimum 1 0"})
    formulas.push_back(*own_formula(operations));
  Random random(41);
  for (int round = 0; round < (random_rounds / 10); ++round)
    formulas.push_back(random_formula_of_constants(random, 4 + static_cast<int>(below(random, 8))));
  const std::vector<machine::Isa> isas = isas_here();
  std::size_t turn = 0;
  for (const Formula& formula : formulas) {
    const Pipeline pipeline =
        pipeline_of("own | own", {own_filter(std::make_shared<const Formula>(formula))});
    const auto layout = lay_out(pipeline, {61, 43});
    ASSERT_TRUE(layout) << layout.error().message;
    TestFrame frame(*layout, 5);
    for (Fusion fusion : {Fusion::none, Fusion::all}) {
      const Structure structure = all_structures()[turn / 2 % all_structures().size()];
      expect_reference(frame, {.structure = is_one_kernel(structure) ? Structure::tiled : structure,
                               .fusion = fusion,
                               .tile = {16, 8},
                               .threads = 2,
                               .isa = isas[turn++ % isas.size()]});
      if (HasFatalFailure()) FAIL() << formula.text();
    }
  }
}

// Halide would take "not greater" for "at most", and 0 for -0.
TEST_F(FormulaStructures, HaveTheBitsOfTheReferenceForNanInfinitiesAndZerosOfBothSigns) {
  Random random(7);
  std::vector<Formula> formulas;
  for (const char* operations :
       {"pixel 0 0 0; subtract 0 0; divide 1 1; constant 3f800000; less_equal 2 3; constant 3e800000; select "
        "4 3 5",
        "pixel 0 0 0; constant 80000000; multiply 0 1; constant 00000000; minimum 2 3; constant 3f800000; "
        "divide 5 4",
        "pixel 0 0 0; constant 80000000; multiply 0 1; constant 00000000; add 2 3; constant 3f800000; "
        "divide 5 4",
        "pixel 0 0 0; constant 3f000000; less 0 1; constant 80000000; constant 00000000; select 2 3 4; "
        "constant 3f800000; divide 6 5"})
    formulas.push_back(*own_formula(operations));
  for (int round = 0; round < random_rounds / 20; ++round)
    formulas.push_back(random_formula_of_special_numbers(random, 16));
  const std::vector<machine::Isa> isas = isas_here();
  std::size_t turn = 0;
  for (const Formula& formula : formulas) {
    const machine::Isa isa = isas[turn++ % isas.size()];
    for (const Samples samples : {Samples::floats, Samples::codes}) {
      const auto layout = lay_out(pipeline_of("own", {own_filter(std::make_shared<const Formula>(formula))}),
                                  {61, 43}, samples);
      ASSERT_TRUE(layout) << layout.error().message;
      TestFrame frame(*layout, 5);
      expect_reference(
          frame,
          {.structure = Structure::tiled, .fusion = Fusion::none, .tile = {16, 8}, .threads = 2, .isa = isa});
      EXPECT_FALSE(HasFailure()) << formula.text();
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GE(library_.compiled(), static_cast<int>(formulas.size()));
  EXPECT_FALSE(library_.first_error());
}

TEST_F(FormulaStructures, RunAtOnceAndGoOnWithWhatIsCompiled) {
  const auto layout = lay_out(pipeline_of("own(0.4)", {own_filter(every_operation, 1)}), {64, 48});
  ASSERT_TRUE(layout);
  TestFrame frame(*layout, 2);
  Executor executor(*pool_, library_, *topology_, topology_->cpus());
  ASSERT_TRUE(executor.set(*layout, {.fusion = Fusion::none, .isa = machine::best_isa()}));
  EXPECT_TRUE(executor.interim());
  ASSERT_TRUE(executor.run({&frame.task, 1}));
  EXPECT_EQ(frame.difference(), "");
  ASSERT_TRUE(library_.wait({.stages = {{.filter = layout->planes[0].stages[0].filter, .inputs = {-1}}}},
                            machine::best_isa()));
  frame.clear();
  ASSERT_TRUE(executor.run({&frame.task, 1}));
  EXPECT_FALSE(executor.interim());
  EXPECT_EQ(frame.difference(), "");
}

// A cached kernel is found by the filter's identity, not by its name.
TEST_F(FormulaStructures, AreKeptByWhatTheyAre) {
  const TemporaryFolder folder;
  const auto spec_of = [](const char* name, const char* operations) {
    return single_stage(*make_formula_filter({.name = name, .formula = own_formula(operations)}));
  };
  const char* const doubled = "pixel 0 0 0; add 0 0";
  {
    KernelLibrary first({.cache = KernelCache(folder.path())});
    ASSERT_TRUE(first.wait(spec_of("mine", doubled), machine::best_isa()));
    EXPECT_EQ(first.compiled(), 1);
  }
  KernelLibrary second({.cache = KernelCache(folder.path())});
  ASSERT_TRUE(second.wait(spec_of("yours", doubled), machine::best_isa()));
  EXPECT_EQ(second.compiled(), 0);
  EXPECT_EQ(second.loaded(), 1);
  ASSERT_TRUE(second.wait(spec_of("mine", "pixel 0 0 0; add 0 0; add 1 0"), machine::best_isa()));
  EXPECT_EQ(second.compiled(), 1);
}

// A loop that does not use the number of its step, alone and inside another, of a constant and of a varying
// count.
TEST_F(FormulaStructures, RepeatStepsThatAreAllEqual) {
  for (const char* operations :
       {"pixel 0 0 0; constant 40a00000; loop 1 0; constant 3f000000; multiply 2 3; end 4",
        "pixel 0 0 0; height; loop 1 0; constant 3f7d70a4; multiply 2 3; end 4",
        "pixel 0 0 0; constant 40400000; loop 1 0; constant 40000000; pixel 0 0 0; loop 3 4; "
        "constant 3f400000; multiply 5 6; end 7; add 2 8; end 9"}) {
    const auto layout = lay_out(pipeline_of("own | own", {own_filter(operations)}), {61, 43});
    ASSERT_TRUE(layout) << layout.error().message;
    TestFrame frame(*layout, 5);
    for (const Fusion fusion : {Fusion::none, Fusion::all}) {
      expect_reference(frame, {.structure = Structure::tiled,
                               .fusion = fusion,
                               .tile = {16, 8},
                               .threads = 2,
                               .isa = machine::best_isa()});
      if (HasFatalFailure()) FAIL() << operations;
    }
  }
}

// The library may outlive the pipeline that owns the filters of its kernels.
TEST_F(FormulaStructures, LiveAsLongAsTheirKernels) {
  std::shared_ptr<const Kernel> kernel;
  {
    const auto found = library_.wait(single_stage(own_filter("pixel 0 1 0")), machine::best_isa());
    ASSERT_TRUE(found) << found.error().message;
    kernel = *found;
  }
  EXPECT_EQ(kernel->spec().stages[0].filter->name, "own");
}

}  // namespace
}  // namespace millrace::image
