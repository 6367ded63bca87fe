// Rows computed together have the same pixels as rows computed separately, and share work.
#include "millrace/image/kernel/halide/shared_rows.h"

#include <random>

#include <gtest/gtest.h>

namespace millrace::image {
namespace {

using namespace Halide::Internal;

// A pass that changes nothing and counts vector reads of pixels.
class VectorReads final : public IRMutator {
 public:
  explicit VectorReads(int& count) : count_(count) {}

 private:
  using IRMutator::visit;

  Halide::Expr visit(const Load* op) override {
    if (op->type.lanes() == 8) ++count_;
    return IRMutator::visit(op);
  }

  int& count_;
};

class SharedRows : public testing::Test {
 protected:
  static constexpr int width = 37;
  static constexpr int height = 11;
  static constexpr int rows = 4;

  SharedRows() : input_(width + 2, height + 2) {
    std::mt19937 generator(3);
    std::uniform_real_distribution<float> pixel(0, 1);
    input_.for_each_value([&](float& value) { value = pixel(generator); });
    plane_.set(input_);
  }

  // A row as stencils refer to it, see HalideAlgebra::replicate_y.
  [[nodiscard]] Halide::Expr row_sum(const Halide::Expr& y) const {
    const Halide::Expr last = Halide::cast<int>(Halide::cast<unsigned>(plane_.dim(1).extent()) - 1);
    const Halide::Expr row = Halide::clamp(y, 0, last);
    return Halide::strict_float(plane_(x_, row) + plane_(x_ + 2, row)) + plane_(x_ + 1, row);
  }

  // Evaluates an expression of x_ and y_.
  Halide::Buffer<float> computed(const Halide::Expr& pixel, bool at_once) {
    Halide::Func output("output");
    output(x_, y_) = Halide::strict_float(pixel);
    if (at_once) {
      const Halide::Var column;
      const Halide::Var row;
      output.split(y_, y_, row, rows, Halide::TailStrategy::ShiftInwards)
          .split(x_, x_, column, 8, Halide::TailStrategy::ShiftInwards)
          .reorder(column, row, x_, y_)
          .vectorize(column)
          .unroll(row)
          .never_partition_all();
    }
    Halide::Pipeline pipeline(output);
    if (at_once) {
      share_rows(pipeline);
      pipeline.add_custom_lowering_pass(new VectorReads(reads_));  // takes ownership
    }
    return pipeline.realize({width, height});
  }

  void expect_the_same(const Halide::Expr& pixel) {
    const Halide::Buffer<float> expected = computed(pixel, false);
    const Halide::Buffer<float> made = computed(pixel, true);
    expected.for_each_element([&](int x, int y) { EXPECT_EQ(made(x, y), expected(x, y)) << x << ' ' << y; });
  }

  Halide::Var x_{"x"};
  Halide::Var y_{"y"};
  Halide::Buffer<float> input_;
  Halide::ImageParam plane_{Halide::Float(32), 2, "plane"};
  int reads_ = 0;  // by all rows of a step
};

TEST_F(SharedRows, ReadEachPixelOfTheirWindowsOnce) {
  expect_the_same(row_sum(y_) + row_sum(y_ + 1) * row_sum(y_ + 2));
  EXPECT_EQ(reads_, 3 * (rows + 2));
}

TEST_F(SharedRows, ReadNothingThatOnlySomeOfThemMayRead) {
  const Halide::Expr even = Call::make(Halide::Float(32), Call::if_then_else,
                                       {y_ % 2 == 0, row_sum(y_), row_sum(y_ + 1)}, Call::PureIntrinsic);
  expect_the_same(even);
  EXPECT_GE(reads_, rows * 6);
}

}  // namespace
}  // namespace millrace::image
