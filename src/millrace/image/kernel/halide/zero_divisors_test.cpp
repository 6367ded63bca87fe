// Divisions by constants give what the processor gives for the same divisor as a variable.
#include "millrace/image/kernel/halide/zero_divisors.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::image {
namespace {

class ZeroDivisors : public testing::TestWithParam<float> {};

TEST_P(ZeroDivisors, GiveTheResultsOfIeee754) {
  constexpr float infinite = std::numeric_limits<float>::infinity();
  const std::vector<float> numbers{0.0F,  -0.0F,    1.0F,      -1.0F,         1e-40F, -1e-40F,
                                   3e38F, infinite, -infinite, std::nanf(""), 0.5F,   -255.0F};
  const auto count = static_cast<int>(numbers.size());
  Halide::Buffer<float> buffer(count);
  for (int i = 0; i < count; ++i)
    buffer(i) = numbers[static_cast<std::size_t>(i)];
  for (const bool vectors : {false, true}) {
    const Halide::Var x("x");
    Halide::Func quotient("quotient");
    quotient(x) = Halide::strict_float(buffer(x) / Halide::Expr(GetParam()));
    if (vectors) quotient.vectorize(x, 4);
    Halide::Pipeline pipeline(quotient);
    multiply_for_zero_divisors(pipeline);
    const Halide::Buffer<float> made = pipeline.realize({count});
    for (int i = 0; i < count; ++i) {
      volatile const float divisor = GetParam();
      const float expected = buffer(i) / divisor;
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(made(i))) << buffer(i) << " / " << GetParam();
      else
        EXPECT_EQ(std::bit_cast<std::uint32_t>(made(i)), std::bit_cast<std::uint32_t>(expected))
            << buffer(i) << " / " << GetParam();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Divisors, ZeroDivisors, testing::Values(0.0F, -0.0F, 1.0F, 3.0F, 1e-40F, -2.0F));

}  // namespace
}  // namespace millrace::image
