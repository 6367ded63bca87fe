// Whatever Halide throws becomes an Error of one line.
#include "millrace/image/kernel/halide/halide_errors.h"

#include <functional>
#include <new>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::image {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string message_of(const std::function<void()>& compile) {
  const Status done = without_halide_errors([&]() -> Status {
    compile();
    return {};
  });
  return done ? "no error" : done.error().message;
}

TEST(HalideErrors, AreErrorsWhateverIsThrown) {
  EXPECT_EQ(message_of([] {}), "no error");
  EXPECT_EQ(message_of([] { throw Halide::CompileError("a\n  b\n"); }), "a b");
  EXPECT_EQ(message_of([] { throw Halide::InternalError("internal"); }), "internal");
  EXPECT_EQ(message_of([] { throw Halide::RuntimeError(" at\trun time"); }), "at run time");
  EXPECT_EQ(message_of([] { throw std::runtime_error("of the library"); }), "of the library");
  EXPECT_EQ(message_of([] { throw std::bad_alloc(); }), std::bad_alloc().what());
}

TEST(HalideErrors, QuoteNoWholeKernel) {
  const std::string message = message_of([] { throw Halide::CompileError(std::string(100'000, 'x')); });
  EXPECT_EQ(message, std::string(300, 'x') + "...");
}

// Both contexts with a stack of its own: Halide throws while it lowers and while it generates code.
TEST(HalideErrors, AreErrorsIfThrownWhileHalideCompiles) {
  const Halide::Target target = Halide::get_host_target().with_feature(Halide::Target::StrictFloat);
  const Halide::Var x("x");
  const Halide::ImageParam input(Halide::Float(32), 1, "input");
  EXPECT_THAT(message_of([&] {
                Halide::Func quotient("quotient");
                quotient(x) = input(x) / Halide::Expr(0.0F);
                static_cast<void>(
                    quotient.compile_to_module({input}, "quotient", target).compile_to_buffer());
              }),
              AllOf(HasSubstr("constant zero"), Not(HasSubstr("\n"))));
  EXPECT_THAT(message_of([&] {
                Halide::Func reader("reader");
                reader(x) = input(x);
                reader.bound(x, 0, 8).unroll(Halide::Var("other"));
                static_cast<void>(reader.compile_to_module({input}, "reader", target));
              }),
              AllOf(HasSubstr("other"), Not(HasSubstr("\n"))));
}

}  // namespace
}  // namespace millrace::image
