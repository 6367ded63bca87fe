#include "millrace/pool/function_ref.h"

#include <memory>
#include <type_traits>

#include <gtest/gtest.h>

namespace millrace::pool {
namespace {

TEST(FunctionRefTest, calls_the_object_it_refers_to_and_not_a_copy) {
  struct Counter {
    int calls = 0;
    int operator()(int by) { return calls += by; }
  } counter;
  const FunctionRef<int(int)> ref = counter;
  const FunctionRef<int(int)> copy = ref;
  EXPECT_EQ(ref(2), 2);
  EXPECT_EQ(copy(3), 5);
  EXPECT_EQ(counter.calls, 5);
}

TEST(FunctionRefTest, refers_to_constant_objects) {
  const auto twice = [](int x) { return 2 * x; };
  const FunctionRef<int(int)> ref = twice;
  EXPECT_EQ(ref(21), 42);
}

TEST(FunctionRefTest, forwards_arguments_that_can_only_be_moved) {
  const auto take = [](std::unique_ptr<int> p) { return *p; };
  const FunctionRef<int(std::unique_ptr<int>)> ref = take;
  EXPECT_EQ(ref(std::make_unique<int>(7)), 7);
}

TEST(FunctionRefTest, is_empty_only_when_default_constructed) {
  EXPECT_FALSE(FunctionRef<void()>());
  const auto nothing = [] {};
  EXPECT_TRUE(FunctionRef<void()>(nothing));
}

TEST(FunctionRefTest, accepts_only_what_can_be_called_so) {
  const auto takes_int = [](int) {};
  static_assert(std::is_constructible_v<FunctionRef<void(int)>, decltype(takes_int)&>);
  static_assert(!std::is_constructible_v<FunctionRef<void(const char*)>, decltype(takes_int)&>);
  static_assert(!std::is_constructible_v<FunctionRef<int(int)>, decltype(takes_int)&>);
  static_assert(sizeof(FunctionRef<void(int)>) == 2 * sizeof(void*));
}

}  // namespace
}  // namespace millrace::pool
