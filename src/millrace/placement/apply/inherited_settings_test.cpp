#include "millrace/placement/apply/inherited_settings.h"

#include <gtest/gtest.h>

namespace millrace::placement {
namespace {

using machine::SchedulingClass;

const Original free_to_go{{0, 1, 2, 3}, SchedulingClass::other, 0, 0, 0};
const Original bound{{0, 1, 2, 3}, SchedulingClass::batch, 0, 0, 20};
const Original pinned{{2}, SchedulingClass::other, 0, 0, 0};

Original with(Original state, const machine::CpuSet& mask) {
  state.mask = mask;
  return state;
}

GivenStates given_batch_and_cpu_1() {
  GivenStates given;
  given.add(bound, free_to_go);
  given.add(with(free_to_go, {1}), free_to_go);
  return given;
}

TEST(InheritedSettings, OfAMakerThatIsKnownIsItsOwn) {
  const Original maker{{0, 1}, SchedulingClass::other, 5, 0, 0};
  const Origin origin = origin_of(bound, &free_to_go, InheritedSettings{maker, bound}, {});
  EXPECT_EQ(origin.original, maker);
  EXPECT_FALSE(origin.alone);
}

// The kernel copies the state before the maker reports the birth. Both orders must work.
TEST(InheritedSettings, OfAMakerThatWasChangedMeanwhileIsKnownAllTheSame) {
  const GivenStates given = given_batch_and_cpu_1();
  for (const Original* family : {&free_to_go, static_cast<const Original*>(nullptr)}) {
    const Origin given_back = origin_of(bound, family, InheritedSettings{free_to_go, free_to_go}, given);
    EXPECT_EQ(given_back.original, free_to_go);
    EXPECT_FALSE(given_back.alone);
    const Origin given_since = origin_of(free_to_go, family, InheritedSettings{free_to_go, bound}, given);
    EXPECT_EQ(given_since.original, free_to_go);
    EXPECT_FALSE(given_since.alone);
  }
}

// Masks are given before classes, so a thread can be born in between.
TEST(InheritedSettings, EachThingIsKnownByItself) {
  const Origin origin = origin_of(with(bound, {1}), &free_to_go, std::nullopt, given_batch_and_cpu_1());
  EXPECT_EQ(origin.original, free_to_go);
  EXPECT_FALSE(origin.alone);
}

TEST(InheritedSettings, WhatNobodyWasGivenIsAChoice) {
  const Origin origin = origin_of(with(bound, {2}), &free_to_go, std::nullopt, given_batch_and_cpu_1());
  EXPECT_EQ(origin.original, pinned) << "its class is not";
  EXPECT_TRUE(origin.alone);
  EXPECT_TRUE(origin_of(pinned, &free_to_go, std::nullopt, {}).alone);
  EXPECT_FALSE(origin_of(pinned, &pinned, std::nullopt, {}).alone) << "its process has it, too";
  EXPECT_FALSE(origin_of(pinned, nullptr, std::nullopt, {}).alone) << "nobody knows otherwise";
}

TEST(InheritedSettings, OfOneThatLooksAfterItselfDoesTheSame) {
  const Origin origin = origin_of(pinned, &free_to_go, InheritedSettings{pinned, pinned, true}, {});
  EXPECT_EQ(origin.original, pinned);
  EXPECT_TRUE(origin.alone);
}

// A program that has class batch of its own, under a plan of masks.
TEST(InheritedSettings, WhatSomebodyHadAnyhowWasNotGiven) {
  GivenStates given = given_batch_and_cpu_1();
  given.add(with(bound, {3}), bound);
  EXPECT_EQ(given.before(with(bound, {3})), free_to_go);
}

}  // namespace
}  // namespace millrace::placement
